# SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause
# From run.sh's facts to the JSON that `lab model cycles --core` reads (docs/model.md). -v like=CORE
function quoted(text) {
	gsub(/\\/, "&&", text)
	gsub(/"/, "\\\\&", text)
	gsub(/[^ -~]/, "?", text)
	return "\"" text "\""
}
function rest(from,    i, text) {
	text = ""
	for (i = from; i <= NF; i++)
		text = text (text == "" ? "" : " ") $i
	return text
}
function table(name, of, n,    i) {
	printf ",\n \"%s\": {", name
	for (i = 1; i <= n; i++)
		printf "%s\n  %s", (i > 1 ? "," : ""), of[i]
	printf "\n }"
}
$1 == "cycles-per-tick" { per_tick = $2 / 1000 }
$1 == "made" { made[++mades] = quoted($2) ": " quoted(rest(3)); if ($2 == "midr") midr = $3 }
# A class that takes nothing beyond its loop is not one that was measured.
$1 == "cost" && $3 > 0 { cost[++costs] = quoted($2) ": {\"cycles\": [" $3 ", " $4 "], \"how\": \"a loop of it; the most: among loads and stores\"}" }
$1 == "figure" { figure[++figures] = $2; ticks[figures] = $3; how[figures] = rest(4) }
$1 == "check" { check[++checks] = quoted($2) ": {\"state\": " quoted($3) ", \"what\": " quoted(rest(4)) "}" }
$1 == "line" { line[++lines] = quoted(rest(2)) }
END {
	if (per_tick == 0) {
		print "json.awk: nobody said how long a tick is" > "/dev/stderr"
		exit 1
	}
	made[++mades] = "\"cycles-per-tick\": " quoted(per_tick "")
	for (i = 1; i <= figures; i++)
		each[i] = quoted(figure[i]) ": {\"cycles\": " sprintf("%.1f", ticks[i] * per_tick) ", \"how\": " quoted(how[i]) "}"
	name = "silicon-" midr
	sub(/0x/, "", name)
	printf "{\"armvisor_core\": 1,\n \"name\": %s,\n \"what\": %s,\n \"like\": %s", quoted(name), quoted("a core with MIDR " midr ", measured by the silicon kit"), quoted(like)
	table("made", made, mades)
	table("costs", cost, costs)
	table("figures", each, figures)
	table("checks", check, checks)
	printf ",\n \"lines\": ["
	for (i = 1; i <= lines; i++)
		printf "%s\n  %s", (i > 1 ? "," : ""), line[i]
	print "\n ]\n}"
}
