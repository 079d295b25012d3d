package config

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"svc"
)

// The files of the data directory that hold one word each, mode 0600.
const (
	userTokenFile   = "token"
	workerTokenFile = "worker_token"
	hostTokenFile   = "host_token"
	instanceIDFile  = "instance_id"
	workerKeyFile   = "worker_key"
	signingKeyFile  = "signing_key"
)

// OrchestratorSecrets are the names of the files that an orchestrator takes along when it moves to another data directory: with
// others, the tokens of people, hosts and runs would no longer be accepted.
func OrchestratorSecrets() []string { return []string{userTokenFile, workerTokenFile, signingKeyFile} }

// Token is a bearer token and how it was come by. Printing it shows no secret.
type Token struct {
	Value Secret
	// From is the variable or the path of the file.
	From string
	// Made is true when this call generated the token.
	Made bool
	// Warning is for the log: the file was open to others. It is empty when all is well.
	Warning string
}

// UserToken is the token that the command line sends: SVC_TOKEN, else the file in the data
// directory. When neither is there the error wraps fs.ErrNotExist. The variable is taken as it
// is, since the server is the judge of it.
func UserToken(dir string, env func(string) string) (Token, error) {
	if v := strings.TrimSpace(env("SVC_TOKEN")); v != "" {
		return fromEnv("SVC_TOKEN", v)
	}
	path := filepath.Join(dir, userTokenFile)
	word, warning, err := readSecret(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Token{}, fmt.Errorf("no token: set SVC_TOKEN, or copy the orchestrator's token file to %s: %w", path, err)
	}
	return fromFile(path, word, warning, false, err, isUserToken)
}

// EnsureUserToken is the token that the orchestrator accepts: SVC_TOKEN, else the one in the data
// directory's file, which is made at the first start. A variable or a file that holds something else
// than a token is an error; a file is never replaced.
func EnsureUserToken(dir string, env func(string) string) (Token, error) {
	if v := strings.TrimSpace(env("SVC_TOKEN")); v != "" {
		if !isUserToken(v) {
			return Token{}, errors.New("SVC_TOKEN must be 32 hex characters for an orchestrator")
		}
		return fromEnv("SVC_TOKEN", v)
	}
	path := filepath.Join(dir, userTokenFile)
	word, warning, made, err := ensureSecret(path, NewToken)
	return fromFile(path, word, warning, made, err, isUserToken)
}

// WorkerToken is the token that a worker sends: SVC_WORKER_TOKEN, else what was stored for its
// host, else the worker token. When none is there the error wraps fs.ErrNotExist.
func WorkerToken(dir string, env func(string) string) (Token, error) {
	if v := strings.TrimSpace(env("SVC_WORKER_TOKEN")); v != "" {
		return fromEnv("SVC_WORKER_TOKEN", v)
	}
	path := filepath.Join(dir, hostTokenFile)
	word, warning, err := readSecret(path)
	if errors.Is(err, fs.ErrNotExist) {
		path = filepath.Join(dir, workerTokenFile)
		word, warning, err = readSecret(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		path = filepath.Join(dir, hostTokenFile)
		return Token{}, fmt.Errorf("no worker token: set SVC_WORKER_TOKEN, or write the token that the operator gave out to %s: %w", path, err)
	}
	return fromFile(path, word, warning, false, err, isBearer)
}

// EnsureWorkerToken is the worker token that the orchestrator accepts: SVC_WORKER_TOKEN, else
// the file in its data directory, which is made at the first start. A host's token is refused: as
// the worker token it would open every host.
func EnsureWorkerToken(dir string, env func(string) string) (Token, error) {
	token, err := workerToken(dir, env)
	if err == nil && isHostToken(string(token.Value)) {
		return Token{}, fmt.Errorf("%s holds the token of one host, which is not the orchestrator's worker token; "+
			"move it to %s for that host's worker and let a new one be made", token.From, filepath.Join(dir, hostTokenFile))
	}
	return token, err
}

func workerToken(dir string, env func(string) string) (Token, error) {
	if v := strings.TrimSpace(env("SVC_WORKER_TOKEN")); v != "" {
		return fromEnv("SVC_WORKER_TOKEN", v)
	}
	path := filepath.Join(dir, workerTokenFile)
	word, warning, made, err := ensureSecret(path, NewToken)
	return fromFile(path, word, warning, made, err, isBearer)
}

// EnsureSigningKey is the orchestrator's own secret, from which the tokens of runs and hosts are
// made: SVC_SIGNING_KEY, else the file in the data directory. The file is made at the first start;
// another key would make all of those worthless. A variable counts as it is written, as a file does.
func EnsureSigningKey(dir string, env func(string) string) (key Secret, warning string, err error) {
	if v := strings.TrimSpace(env("SVC_SIGNING_KEY")); v != "" {
		if _, err := hex.DecodeString(v); err != nil || len(v) != 64 {
			return "", "", errors.New("SVC_SIGNING_KEY must be 64 hex characters")
		}
		return Secret(v), "", nil
	}
	path := filepath.Join(dir, signingKeyFile)
	word, warning, _, err := ensureSecret(path, func() string { return NewToken() + NewToken() })
	if err == nil && len(word) < 32 {
		err = fmt.Errorf("%s holds no key; restore it from a backup, or remove it and join every host again", path)
	}
	return Secret(word), warning, err
}

// SigningKeyFile is the path of the key's file and what it holds; empty: there is none that can be read.
func SigningKeyFile(dir string) (path string, key Secret) {
	path = filepath.Join(dir, signingKeyFile)
	word, _, err := readSecret(path)
	if err != nil {
		return path, ""
	}
	return path, Secret(word)
}

// ErrOtherHost says that a data directory belongs to the worker of another host.
var ErrOtherHost = errors.New("it holds the token of another host")

// StoreHostToken keeps the token that a worker was given, in a file that the orchestrator does not
// read. A newer token of the same host takes the place of the older one; that of another host is
// kept, and the error is ErrOtherHost.
func StoreHostToken(dir, token string) error {
	token = strings.TrimSpace(token)
	if !isBearer(token) {
		return errors.New("the worker token is empty or has characters that a token cannot have")
	}
	path := filepath.Join(dir, hostTokenFile)
	old, _, err := readSecret(path)
	if err == nil && isHostToken(old) && hostOf(old) != hostOf(token) {
		err = ErrOtherHost
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = replaceSecret(path, token)
	}
	if err != nil {
		return fmt.Errorf("store worker token in %s: %w", path, err)
	}
	return nil
}

func isHostToken(token string) bool { return strings.HasPrefix(token, svc.HostTokenPrefix) }

// hostOf is the part of a host's token that names the host; empty for every other token.
func hostOf(token string) string {
	if !isHostToken(token) {
		return ""
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(token, svc.HostTokenPrefix), "_")
	return host
}

// EnsureInstanceID is the identity of the worker that owns the data directory, a UUID that is
// drawn once and kept. A file that holds something else is an error: a new identity would make
// the host a suspected clone. The warning is as in Token.
func EnsureInstanceID(dir string) (id, warning string, err error) {
	path := filepath.Join(dir, instanceIDFile)
	word, warning, _, err := ensureSecret(path, uuid.NewString)
	if err != nil {
		return "", "", fmt.Errorf("instance id in %s: %w", path, err)
	}
	parsed, err := uuid.Parse(word)
	if err != nil || len(word) != 36 {
		return "", "", fmt.Errorf("%s does not hold a UUID; remove it to make this worker a new instance", path)
	}
	return parsed.String(), warning, nil
}

// InstanceID is the identity of the worker that keeps its things in the data directory; empty when there is none that can be read.
func InstanceID(dir string) string {
	word, _, err := readSecret(filepath.Join(dir, instanceIDFile))
	if err != nil {
		return ""
	}
	return word
}

// EnsureWorkerKey is the key that the worker of the data directory signs its connections with. It is
// drawn once and kept; only its public half leaves the host. The warning is as in Token.
func EnsureWorkerKey(dir string) (key ed25519.PrivateKey, warning string, err error) {
	path := filepath.Join(dir, workerKeyFile)
	word, warning, _, err := ensureSecret(path, func() string { return NewToken() + NewToken() })
	if err != nil {
		return nil, "", fmt.Errorf("worker key in %s: %w", path, err)
	}
	seed, err := hex.DecodeString(word)
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, "", fmt.Errorf("%s does not hold a key; restore it, or remove it and have an operator accept a new one (svc host clear-suspect)", path)
	}
	return ed25519.NewKeyFromSeed(seed), warning, nil
}

// NewToken draws a token: 32 lower-case hex characters, 128 random bits.
func NewToken() string {
	var b [16]byte
	rand.Read(b[:]) // it never fails: it ends the process when the system has no randomness
	return hex.EncodeToString(b[:])
}

func fromEnv(name, value string) (Token, error) {
	if !isBearer(value) {
		return Token{}, fmt.Errorf("%s has characters that a token cannot have", name)
	}
	return Token{Value: Secret(value), From: name}, nil
}

func fromFile(path, word, warning string, made bool, err error, valid func(string) bool) (Token, error) {
	switch {
	case err != nil:
		return Token{}, fmt.Errorf("token in %s: %w", path, err)
	case word == "":
		return Token{}, fmt.Errorf("token file %s is empty; write the token into it, or remove it to have a new one made", path)
	case !valid(word):
		return Token{}, fmt.Errorf("token file %s does not hold a token; fix it, or remove it to have a new one made", path)
	}
	return Token{Value: Secret(word), From: path, Made: made, Warning: warning}, nil
}

// isUserToken reports whether the word is 32 hex characters.
func isUserToken(word string) bool {
	_, err := hex.DecodeString(word)
	return err == nil && len(word) == 32
}

// isBearer reports whether the word can stand in an Authorization header: visible ASCII. An
// operator may have chosen a worker token of any form.
func isBearer(word string) bool {
	return word != "" && !strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r > '~' })
}
