package tmux

import "strings"

// sinkLine is the shell line that pipe-pane gets. Its words pass three readers: tmux expands
// strftime conversions and formats in it, then a shell splits it.
func sinkLine(argv []string, appendTo string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = quoteSink(arg)
	}
	line := "exec " + strings.Join(words, " ")
	if appendTo != "" {
		line += " >> " + quoteSink(appendTo)
	}
	return line
}

// quoteSink makes one word of a sink line. A hash is doubled for the format and followed by an
// empty pair of quotes, because tmux leaves "##[" and "##{" as they are in some places.
func quoteSink(word string) string {
	return "'" + sinkQuoter.Replace(word) + "'"
}

var sinkQuoter = strings.NewReplacer("'", `'\''`, "#", "##''", "%", "%%")
