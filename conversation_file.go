package svc

import (
	"regexp"
	"strconv"
)

// conversationInFile stands for the id in the name of a conversation's file. {conversation:8} is the first 8 characters of it, for tools
// that put no more into the name. Fewer than 8 would not tell one conversation from another.
var conversationInFile = regexp.MustCompile(`\{conversation(?::([89]|[1-9][0-9]))?\}`)

// ConversationFile puts the id of a conversation into the pattern of its file, and says in how many places.
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
