package docs_test

import (
	"strings"
	"testing"

	"svc/docs"
)

func TestEveryTopicHasAPage(t *testing.T) {
	t.Parallel()
	for _, topic := range docs.Topics {
		if text := topic.Text(); !strings.HasPrefix(text, "# ") || topic.About == "" {
			t.Errorf("%s begins with %.40q", topic.Name, text)
		}
	}
}
