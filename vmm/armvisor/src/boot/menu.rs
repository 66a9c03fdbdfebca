// SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
//! What a boot menu says: GRUB's grub.cfg in the form that `grub-mkconfig` gives it, and entries of the
//! Boot Loader Specification.
//!
//! A grub.cfg is a program. Only what `grub-mkconfig` writes is understood: entries in submenus, the
//! default one by its number, title or id, and variables with fixed values.

use std::cmp::Ordering;
use std::collections::HashMap;

/// One way to boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// The kernel's path.
    pub(super) kernel: String,
    /// Paths of initrds, which follow each other in memory.
    pub(super) initrds: Vec<String>,
    /// The kernel's command line.
    pub(super) words: String,
    /// The file system that the paths are in, if the entry searches one.
    pub(super) uuid: Option<String>,
}

/// A `menuentry` or a `submenu`.
#[derive(Debug, Default)]
struct Item {
    names: Vec<String>,
    entry: Entry,
    items: Vec<Item>,
}

/// The default entry of a grub.cfg, with the variables that the grubenv beside it saves.
pub(super) fn grub(text: &str, saved: &HashMap<String, String>) -> Option<Entry> {
    let mut variables = saved.clone();
    let mut lines = text.lines();
    let items = items(&mut lines, &mut variables, None).items;
    let default = variables.remove("default").unwrap_or_default();
    let chosen = choose(&items, &default).or_else(|| items.iter().find_map(first));
    chosen.map(|item| item.entry.clone())
}

/// The variables of a grubenv.
pub(super) fn environment(text: &str) -> HashMap<String, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once('='))
        // It would be tried once, and GRUB would forget it.
        .filter(|(name, _)| *name != "next_entry")
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// What a block says, up to its end.
fn items(
    lines: &mut std::str::Lines,
    variables: &mut HashMap<String, String>,
    names: Option<Vec<String>>,
) -> Item {
    let outermost = names.is_none();
    let mut block = Item {
        names: names.unwrap_or_default(),
        ..Item::default()
    };
    while let Some(line) = lines.next() {
        let words = words(line, variables);
        let Some((command, rest)) = words.split_first() else {
            continue;
        };
        match command.as_str() {
            "menuentry" | "submenu" if rest.last().is_some_and(|word| word == "{") => {
                let names = Some(names_of(rest));
                block.items.push(items(lines, variables, names));
            }
            "}" if !outermost => return block,
            "set" => set(rest, variables),
            "search" => block.entry.uuid = search(rest),
            "linux" | "linux16" | "linuxefi" => {
                if let Some((kernel, words)) = rest.split_first() {
                    block.entry.kernel = without_device(kernel);
                    block.entry.words = words.join(" ");
                }
            }
            "initrd" | "initrd16" | "initrdefi" => {
                block.entry.initrds = rest.iter().map(|path| without_device(path)).collect();
            }
            assignment if rest.is_empty() && assignment.contains('=') => {
                set(std::slice::from_ref(command), variables);
            }
            _ => {}
        }
    }
    block
}

/// The title, and the id.
fn names_of(words: &[String]) -> Vec<String> {
    let id = words
        .iter()
        .position(|word| word == "--id")
        .and_then(|at| words.get(at + 1));
    words.first().into_iter().chain(id).cloned().collect()
}

/// Remembers a fixed value. An empty one, or one that depends on others, says nothing.
fn set(words: &[String], variables: &mut HashMap<String, String>) {
    let Some((name, value)) = words.first().and_then(|word| word.split_once('=')) else {
        return;
    };
    if !value.is_empty() {
        variables.insert(name.to_owned(), value.to_owned());
    }
}

fn search(words: &[String]) -> Option<String> {
    let by_uuid = words.iter().any(|word| word == "--fs-uuid" || word == "-u");
    words.last().filter(|_| by_uuid).cloned()
}

/// `/boot/vmlinuz` of `($root)/boot/vmlinuz`.
fn without_device(path: &str) -> String {
    let path = match path.split_once(')') {
        Some((device, path)) if device.starts_with('(') => path,
        _ => path,
    };
    path.to_owned()
}

/// The item that `default` names: a number, a title or an id; `>` leads into submenus.
fn choose<'a>(items: &'a [Item], default: &str) -> Option<&'a Item> {
    let (name, rest) = match default.split_once('>') {
        Some((name, rest)) => (name, Some(rest)),
        None => (default, None),
    };
    let by_name = || {
        items
            .iter()
            .find(|item| item.names.iter().any(|own| own == name))
    };
    let item = match name.parse::<usize>() {
        Ok(number) => items.get(number)?,
        Err(_) => by_name()?,
    };
    match rest {
        Some(rest) => choose(&item.items, rest),
        None => first(item),
    }
}

/// The item itself if it boots something, else the first in it that does.
fn first(item: &Item) -> Option<&Item> {
    if !item.entry.kernel.is_empty() {
        return Some(item);
    }
    item.items.iter().find_map(first)
}

/// A line's words as GRUB reads them: quotes, backslashes, comments, variables.
fn words(line: &str, variables: &HashMap<String, String>) -> Vec<String> {
    let mut found = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match (c, quote) {
            ('\'', None) | ('"', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, Some(open)) if c == open => quote = None,
            ('\\', None | Some('"')) => word.get_or_insert_default().extend(rest.next()),
            ('$', None | Some('"')) => {
                let name = variable(&mut rest);
                if let Some(value) = variables.get(&name) {
                    word.get_or_insert_default().push_str(value);
                }
            }
            ('#', None) if word.is_none() => break,
            (c, None) if c.is_whitespace() || c == ';' => found.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    found.extend(word);
    found
}

/// The name after a `$`.
fn variable(rest: &mut std::str::Chars) -> String {
    let text = rest.as_str();
    if let Some(inner) = text.strip_prefix('{') {
        let name = inner.split('}').next().unwrap_or_default().to_owned();
        let end = (name.len() + 2).min(text.len());
        *rest = text[end..].chars();
        return name;
    }
    let end = text
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    *rest = text[end..].chars();
    text[..end].to_owned()
}

/// The newest of the entries that are given with their files' names.
pub(super) fn newest(files: &[(String, String)], saved: &HashMap<String, String>) -> Option<Entry> {
    let of = |text, key| values(text, key).last().unwrap_or_default();
    let entries = files
        .iter()
        .filter(|(_, text)| !of(text, "linux").is_empty());
    let newest = entries.max_by(|(one_name, one), (other_name, other)| {
        natural(of(one, "version"), of(other, "version"))
            .then_with(|| natural(one_name, other_name))
    });
    let (_, text) = newest?;
    let initrds = values(text, "initrd").flat_map(str::split_whitespace);
    let options = values(text, "options").flat_map(|value| words(value, saved));
    Some(Entry {
        kernel: of(text, "linux").to_owned(),
        initrds: initrds
            .filter(|path| !path.starts_with('$'))
            .map(str::to_owned)
            .collect(),
        words: options.collect::<Vec<_>>().join(" "),
        uuid: None,
    })
}

/// The values of a key of the Boot Loader Specification.
fn values<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().map(str::trim).filter_map(move |line| {
        let (own, value) = line.split_once(char::is_whitespace)?;
        (own == key).then(|| value.trim())
    })
}

/// Orders names with numbers in them: 6.1.9 before 6.1.10.
fn natural(one: &str, other: &str) -> Ordering {
    let (mut one, mut other) = (one, other);
    loop {
        let (a, b) = (part(&mut one), part(&mut other));
        if a.is_empty() || b.is_empty() {
            return a.len().cmp(&b.len());
        }
        let number = |text: &str| text.parse::<u128>().ok();
        let order = match (number(a), number(b)) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a.cmp(b),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Takes the digits, or what is before the next digit.
fn part<'a>(text: &mut &'a str) -> &'a str {
    let digit = text.starts_with(|c: char| c.is_ascii_digit());
    let end = text
        .find(|c: char| c.is_ascii_digit() != digit)
        .unwrap_or(text.len());
    let (part, rest) = text.split_at(end);
    *text = rest;
    part
}
