package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"svc/docs"
)

// example matches a file that the manual shows: its name is in a comment, its text in a code block.
var example = regexp.MustCompile("(?s)<!-- (examples/[\\w./]+) -->\n```[a-z]+\n(.*?)```\n")

func TestTheManualShowsTheExamplesAsTheyAre(t *testing.T) {
	t.Parallel()
	var page string
	for _, topic := range docs.Topics {
		if topic.Name == "operations" {
			page = topic.Text()
		}
	}
	shown := map[string]string{}
	for _, m := range example.FindAllStringSubmatch(page, -1) {
		shown[m[1]] = m[2]
	}
	files, err := filepath.Glob("examples/*/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no examples: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if shown[file] != string(text) {
			t.Errorf("the manual does not show %s as it is", file)
		}
	}
	if len(shown) != len(files) {
		t.Errorf("the manual shows %d examples, there are %d", len(shown), len(files))
	}
}

// Without these settings of a balancer, streams, sockets or the sign-in do not work.
func TestTheBalancersOfTheExampleCarryEverything(t *testing.T) {
	t.Parallel()
	for file, needs := range map[string][]string{
		"nginx.conf": {
			"proxy_http_version 1.1;", "proxy_set_header Host $http_host;", "proxy_set_header X-Forwarded-Proto $scheme;",
			"proxy_set_header Upgrade $http_upgrade;", "proxy_set_header Connection $connection_upgrade;",
			"proxy_buffering off;", "proxy_read_timeout 1d;", "proxy_send_timeout 1d;", "client_max_body_size 2m;",
			"proxy_next_upstream error timeout http_503;", "access_log off;",
		},
		"Caddyfile": {"flush_interval -1", "health_uri /readyz"},
	} {
		text, err := os.ReadFile(filepath.Join("examples", "cluster", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range needs {
			if !strings.Contains(string(text), line) {
				t.Errorf("%s lacks %q", file, line)
			}
		}
		if strings.Contains(string(text), "non_idempotent") {
			t.Errorf("%s repeats requests that may have been carried out", file)
		}
	}
}
