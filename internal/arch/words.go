package arch

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
)

// metaphor is a wording that this project does not use in names, comments, messages and documents, because a reader
// has to guess what it means.
type metaphor struct {
	stem string         // is part of every match; in lower case
	was  *regexp.Regexp // matches the wording; in lower case
	is   string         // what is written instead
}

// metaphors are searched for line by line, ignoring case. Each is split here, so that the check does not find it in
// this file.
var metaphors = []metaphor{
	{"kn" + "ock", regexp.MustCompile(`\bkn[o]ck`), "probe, or authenticate"},
	{"do" + "or", regexp.MustCompile(`\bdo[o]rs?\b`), "scope, endpoint or way"},
	{"take" + "off", regexp.MustCompile(`\btake[o]ff\b`), "start"},
	{"fl" + "ight", regexp.MustCompile(`\bfl[i]ghts\b|\b(an?|the|its|each|every|one) fl[i]ght\b`), "pipeline; only requests are in flight"},
	{"about_to" + "_take", regexp.MustCompile(`about_to_[t]ake_it`), "eligible"},
	{"beli" + "ev", regexp.MustCompile(`\bbeli[e]v`), "accept, or may report"},
	{"tru" + "sted", regexp.MustCompile(`\btru[s]ted\(|\b(process|worker|peer|inventory) (is|was) tru[s]ted\b`), "may report"},
	{"cou" + "rier", regexp.MustCompile(`\bcour[i]ers?\b`), "delivery"},
	{"st" + "ir", regexp.MustCompile(`\bst[i]r(s|red|ring)?\b`), "wake"},
	{"lo" + "oks", regexp.MustCompile(`\blo[o]ks(\(| :?= | in a r)`), "captures, as a name"},
	{"mom" + "ents", regexp.MustCompile(`\.mom[e]nts\b|\bmom[e]nts(\[|:|,| :?= )|\bmom[e]nts of a (second|round)`), "slots or times, as a name"},
	{"sp" + "ot", regexp.MustCompile(`\b(set)?sp[o]t(s|of)?\b`), "phase, place or zone"},
	{"str" + "angers", regexp.MustCompile(`str[a]ngers\b`), "unknown sessions, anonymous connections"},
	{"str" + "ay", regexp.MustCompile(`\b(find|clear)str[a]y`), "stale folders"},
	{"no " + "more", regexp.MustCompile(`\bthat (is|are) no m[o]re\b`), "has ended, was removed"},
	{"be " + "had", regexp.MustCompile(`\bnot to be h[a]d\b`), "could not be acquired"},
	{"an" + "other's", regexp.MustCompile(`\bmay be an[o]ther's\b`), "may have been reused"},
	{"beh" + "ind", regexp.MustCompile(`\b(stands?|something|anything|what comes) beh[i]nd\b|beh[i]nd the json`), "follows, or trailing data"},
	{"me" + "nd", regexp.MustCompile(`\bm[e]nd`), "fix"},
	{"by " + "ours", regexp.MustCompile(`\bby [o]urs\b`), "server clock"},
	{"le" + "ave", regexp.MustCompile(`\b(takes?|took|taking) le[a]ve\b`), "end, close or release"},
	{"bur" + "y", regexp.MustCompile(`\bb[u]ry\b`), "write a tombstone"},
	{"every" + "one go", regexp.MustCompile(`\blets? every[o]ne go\b`), "releases followers and viewers"},
	{"itself" + " tells", regexp.MustCompile(`\brun itself t[e]lls\b`), "a signal settles it"},
}

// prose has the extensions of files with text for people: code, documents, the page, settings, SQL; and scripts,
// which have no extension.
var prose = []string{".go", ".md", ".ts", ".tsx", ".html", ".css", ".sql", ".toml", ".yml", ".sh", ""}

// metaphorsIn returns the lines of a file that have one of the metaphors.
func metaphorsIn(name string, source []byte) (violations []string) {
	if !slices.Contains(prose, path.Ext(name)) {
		return nil
	}
	source = bytes.ToLower(source)
	for _, m := range metaphors {
		if !bytes.Contains(source, []byte(m.stem)) {
			continue // most files have none of them, and this is much faster
		}
		number := 0
		for line := range bytes.Lines(source) {
			number++
			if found := m.was.Find(line); found != nil {
				violations = append(violations, fmt.Sprintf("%s:%d: %q is a metaphor; write: %s", name, number, found, m.is))
			}
		}
	}
	return violations
}
