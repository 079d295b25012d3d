package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"svc/config"
)

var none = vars{}.get

const someToken = "0123456789abcdef0123456789abcdef"

func TestTheOrchestratorMakesItsTokensOnceAndKeepsThem(t *testing.T) {
	t.Parallel()
	for file, ensure := range map[string]func(string) (config.Token, error){
		"token":        func(dir string) (config.Token, error) { return config.EnsureUserToken(dir, none) },
		"worker_token": func(dir string) (config.Token, error) { return config.EnsureWorkerToken(dir, none) },
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, file)
			first, err := ensure(dir)
			if err != nil {
				t.Fatal(err)
			}
			if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(string(first.Value)) {
				t.Errorf("the token has the form %q", string(first.Value))
			}
			equal(t, "made", first.Made, true)
			equal(t, "from", first.From, path)
			equal(t, "warning", first.Warning, "")
			equal(t, "mode", mode(t, path), os.FileMode(0o600))
			second, err := ensure(dir)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "token after a restart", string(second.Value), string(first.Value))
			equal(t, "made again", second.Made, false)
			wantFiles(t, dir, file)
			other, err := ensure(t.TempDir())
			if err != nil || other.Value == first.Value {
				t.Errorf("another directory has the same token, or an error: %v", err)
			}
		})
	}
}

func TestATokenThatIsThereIsUsed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "token"), "\n "+someToken+" \r\n")
	write(t, filepath.Join(dir, "worker_token"), "chosen-by-the-operator\n")
	user, err := config.EnsureUserToken(dir, none)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "user token", string(user.Value), someToken)
	worker, err := config.EnsureWorkerToken(dir, none)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "worker token", string(worker.Value), "chosen-by-the-operator")
	data, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "file", string(data), "\n "+someToken+" \r\n")
}

func TestProcessesThatStartAtOnceAgree(t *testing.T) {
	t.Parallel()
	for round := range 20 {
		dir := t.TempDir()
		var wg sync.WaitGroup
		var tokens, ids [16]string
		var made [16]bool
		for i := range tokens {
			wg.Go(func() {
				token, err := config.EnsureUserToken(dir, none)
				id, _, idErr := config.EnsureInstanceID(dir)
				if err := errors.Join(err, idErr); err != nil {
					t.Error(err)
				}
				tokens[i], made[i], ids[i] = string(token.Value), token.Made, id
			})
		}
		wg.Wait()
		makers := 0
		for i := range tokens {
			if tokens[i] != tokens[0] || ids[i] != ids[0] {
				t.Fatalf("round %d: two tokens or ids", round)
			}
			if made[i] {
				makers++
			}
		}
		equal(t, "makers", makers, 1)
		wantFiles(t, dir, "instance_id", "token")
	}
}

func TestAMalformedTokenFileIsAnErrorAndIsKept(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", " \n", "abc", someToken[2:], someToken + "0", someToken + "00", "x" + someToken[1:], someToken + "\n" + someToken} {
		dir := t.TempDir()
		path := filepath.Join(dir, "token")
		write(t, path, content)
		_, err := config.EnsureUserToken(dir, none)
		wantMentions(t, err, path)
		_, err = config.UserToken(dir, none)
		wantMentions(t, err, path)
		if strings.TrimSpace(content) == "" {
			wantMentions(t, err, "is empty")
		}
		if strings.Contains(err.Error(), someToken[2:]) {
			t.Errorf("the error shows the file's content: %v", err)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != content {
			t.Errorf("the file became %q, %v", data, err)
		}
	}
	for _, content := range []string{"", "two words", "umläut"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "worker_token")
		write(t, path, content)
		_, err := config.EnsureWorkerToken(dir, none)
		wantMentions(t, err, path)
		_, err = config.WorkerToken(dir, none)
		wantMentions(t, err, path)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "token"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := config.EnsureUserToken(dir, none)
	wantMentions(t, err, filepath.Join(dir, "token"), "not a regular file")
}

func TestATokenFileOpenToOthersIsClosedWithAWarning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "token")
	write(t, path, someToken)
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	token, err := config.EnsureUserToken(dir, none)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(token.Warning, path) || !strings.Contains(token.Warning, "0644") {
		t.Errorf("the warning is %q", token.Warning)
	}
	equal(t, "mode", mode(t, path), os.FileMode(0o600))
	token, err = config.EnsureUserToken(dir, none)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "warning the next time", token.Warning, "")
}

func TestTheVariableBeatsTheTokenFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "token"), someToken)
	write(t, filepath.Join(dir, "worker_token"), someToken)
	env := vars{"SVC_TOKEN": " u ", "SVC_WORKER_TOKEN": "w"}.get
	for want, get := range map[string]func(string, func(string) string) (config.Token, error){
		"u from SVC_TOKEN":        config.UserToken,
		"w from SVC_WORKER_TOKEN": config.WorkerToken,
	} {
		token, err := get(dir, env)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "with a variable", string(token.Value)+" from "+token.From, want)
		token, err = get(dir, none)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "without", string(token.Value), someToken)
		_, err = get(t.TempDir(), none)
		_, name, _ := strings.Cut(want, " from ")
		wantMentions(t, err, name)
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v does not wrap os.ErrNotExist", err)
		}
	}
	empty := t.TempDir()
	token, err := config.EnsureWorkerToken(empty, env)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the orchestrator's", string(token.Value), "w")
	wantFiles(t, empty)
	_, err = config.UserToken(dir, vars{"SVC_TOKEN": "two words"}.get)
	wantMentions(t, err, "SVC_TOKEN")
}

func TestTheVariablesBeatTheFilesOfAnOrchestrator(t *testing.T) {
	t.Parallel()
	dir, other, key := t.TempDir(), strings.Repeat("c0", 16), strings.Repeat("aB", 32)
	write(t, filepath.Join(dir, "token"), someToken)
	write(t, filepath.Join(dir, "signing_key"), someToken+someToken)
	env := vars{"SVC_TOKEN": other, "SVC_SIGNING_KEY": " " + key + "\n"}.get
	for _, dir := range []string{dir, t.TempDir()} {
		token, err := config.EnsureUserToken(dir, env)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "token", string(token.Value)+" from "+token.From, other+" from SVC_TOKEN")
		equal(t, "made", token.Made, false)
		got, warning, err := config.EnsureSigningKey(dir, env)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "key", string(got), key)
		equal(t, "warning", warning, "")
	}
	got, _, err := config.EnsureSigningKey(dir, none)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the file's key", string(got), someToken+someToken)
	empty := t.TempDir()
	for _, bad := range []string{"geheim", someToken, someToken + someToken[1:], someToken + someToken + "0", "x" + (someToken + someToken)[1:], strings.Repeat("ä", 32)} {
		_, _, err := config.EnsureSigningKey(empty, vars{"SVC_SIGNING_KEY": bad}.get)
		wantRefused(t, err, "SVC_SIGNING_KEY", bad)
	}
	for _, bad := range []string{"geheim", someToken[1:], someToken + "00", "svch_0aa0_sum"} {
		_, err := config.EnsureUserToken(empty, vars{"SVC_TOKEN": bad}.get)
		wantRefused(t, err, "SVC_TOKEN", bad)
	}
	wantFiles(t, empty)
}

// wantRefused fails unless the error names the variable and does not contain its value.
func wantRefused(t *testing.T, err error, variable, value string) {
	t.Helper()
	wantMentions(t, err, variable)
	if err != nil && strings.Contains(err.Error(), value) {
		t.Errorf("the error shows the value: %v", err)
	}
}

func TestAWorkerKeepsTheTokenItWasGiven(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, given := range []string{"first\n", "svch_0aa0_sum", "svch_0aa0_1_sum"} {
		if err := config.StoreHostToken(dir, given); err != nil {
			t.Fatal(err)
		}
		token, err := config.WorkerToken(dir, none)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "token", string(token.Value), strings.TrimSpace(given))
	}
	equal(t, "mode", mode(t, filepath.Join(dir, "host_token")), os.FileMode(0o600))
	wantFiles(t, dir, "host_token")
	for _, bad := range []string{"", " ", "a b"} {
		if err := config.StoreHostToken(dir, bad); err == nil {
			t.Errorf("%q was stored", bad)
		}
	}
}

func TestAHostsTokenIsNotReplacedByThatOfAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := config.StoreHostToken(dir, "svch_0aa0_sum"); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"svch_0bb0_sum", someToken} {
		if err := config.StoreHostToken(dir, other); !errors.Is(err, config.ErrOtherHost) {
			t.Errorf("storing %s: %v", other, err)
		}
	}
	token, err := config.WorkerToken(dir, none)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "token", string(token.Value), "svch_0aa0_sum")
}

func TestAStoredHostTokenLeavesTheOrchestratorsWorkerTokenAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before, err := config.EnsureWorkerToken(dir, none)
	if err != nil {
		t.Fatal(err)
	}
	if err := config.StoreHostToken(dir, "svch_0aa0_sum"); err != nil {
		t.Fatal(err)
	}
	after, err := config.EnsureWorkerToken(dir, none)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the orchestrator's", after.Value, before.Value)
	workers, err := config.WorkerToken(dir, none)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "the worker's", string(workers.Value), "svch_0aa0_sum")
}

func TestAnOrchestratorRefusesAHostsTokenAsItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "worker_token"), "svch_0aa0_sum")
	_, err := config.EnsureWorkerToken(dir, none)
	wantMentions(t, err, "worker_token", "host_token")
	_, err = config.EnsureWorkerToken(t.TempDir(), vars{"SVC_WORKER_TOKEN": "svch_0aa0_sum"}.get)
	wantMentions(t, err, "SVC_WORKER_TOKEN")
}

func TestTheInstanceIDIsDrawnOnceAndNeverReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "instance_id")
	first, _, err := config.EnsureInstanceID(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(first) {
		t.Errorf("the id is %q", first)
	}
	second, _, err := config.EnsureInstanceID(dir)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "id after a restart", second, first)
	for _, bad := range []string{"", "x", "{" + first + "}", strings.ReplaceAll(first, "-", "")} {
		write(t, path, bad)
		_, _, err := config.EnsureInstanceID(dir)
		wantMentions(t, err, path)
	}
}

func TestATokenIsNotPrinted(t *testing.T) {
	t.Parallel()
	token := config.Token{Value: someToken}
	if text := fmt.Sprintf("%v %+v %#v", token, token, token); strings.Contains(text, someToken) {
		t.Errorf("printed: %s", text)
	}
}

// wantFiles fails unless the directory contains exactly these names.
func wantFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, e := range entries {
		got = append(got, e.Name())
	}
	equal(t, "content of the directory", strings.Join(got, " "), strings.Join(names, " "))
}
