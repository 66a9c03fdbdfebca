// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! Users by name and number, from /etc/passwd; others are known by their number.

use std::fs;

fn passwd() -> String {
    fs::read_to_string("/etc/passwd").unwrap_or_default()
}

/// Name and number of each line.
fn entries(passwd: &str) -> impl Iterator<Item = (&str, u32)> {
    passwd.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        Some((name, fields.nth(1)?.parse().ok()?))
    })
}

/// What a user is called.
pub(super) fn name_of(uid: u32) -> String {
    name_in(&passwd(), uid).map_or_else(|| uid.to_string(), str::to_owned)
}

/// The name that these lines of /etc/passwd give a user.
pub(crate) fn name_in(passwd: &str, uid: u32) -> Option<&str> {
    let found = entries(passwd).find(|(_, number)| *number == uid);
    found.map(|(name, _)| name)
}

/// The number of a user who is called so, or has it for a name.
pub(super) fn number_of(user: &str) -> Option<u32> {
    let passwd = passwd();
    let found = entries(&passwd).find(|(name, _)| *name == user);
    found.map(|(_, uid)| uid).or_else(|| user.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        let text = "root:x:0:0:root:/root:/bin/sh\n\nbad\n:x:5:\nanna:x:1000:1000::/:\nx:x:-1:\n";
        let all: Vec<_> = entries(text).collect();
        assert_eq!(all, [("root", 0), ("anna", 1000)]);
        assert_eq!(name_of(4_000_000_001), "4000000001");
        assert_eq!(number_of("4000000001"), Some(4_000_000_001));
        assert_eq!(number_of("no such user"), None);
    }
}
