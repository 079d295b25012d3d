package svc

import (
	"regexp"
	"strconv"
)

// conversationInFile matches the placeholder for the conversation's id in the name of its file. {conversation:8}
// stands for the first 8 characters of the id, for tools that put only these into the name. Fewer than 8 would not
// identify one conversation.
var conversationInFile = regexp.MustCompile(`\{conversation(?::([89]|[1-9][0-9]))?\}`)

// ConversationFile replaces the placeholders in pattern by the id of a conversation. It returns how many it replaced.
func ConversationFile(pattern, id string) (file string, places int) {
	file = conversationInFile.ReplaceAllStringFunc(pattern, func(found string) string {
		places++
		if n, err := strconv.Atoi(conversationInFile.FindStringSubmatch(found)[1]); err == nil {
			return id[:min(n, len(id))]
		}
		return id
	})
	return file, places
}
