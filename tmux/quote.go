package tmux

import "strings"

// sinkLine returns the shell line for pipe-pane. Its words are interpreted three times: tmux expands strftime
// conversions and formats in it, and then a shell splits it.
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

// quoteSink quotes one word of a sink line. A hash is doubled for the format and followed by an empty pair of
// quotes, because in some places tmux does not reduce "##[" and "##{".
func quoteSink(word string) string {
	return "'" + sinkQuoter.Replace(word) + "'"
}

var sinkQuoter = strings.NewReplacer("'", `'\''`, "#", "##''", "%", "%%")
