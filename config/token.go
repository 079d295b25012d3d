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

// The files of the data directory that contain one word each, mode 0600.
const (
	userTokenFile   = "token"
	workerTokenFile = "worker_token"
	hostTokenFile   = "host_token"
	instanceIDFile  = "instance_id"
	workerKeyFile   = "worker_key"
	signingKeyFile  = "signing_key"
)

// OrchestratorSecrets returns the names of the files that an orchestrator needs when it moves to another data
// directory: without them, the tokens of users, hosts and runs would no longer be accepted.
func OrchestratorSecrets() []string { return []string{userTokenFile, workerTokenFile, signingKeyFile} }

// Token is a bearer token and its source. Printing it shows no secret.
type Token struct {
	Value Secret
	// From is the variable, or the path of the file.
	From string
	// Made is true when this call generated the token.
	Made bool
	// Warning is a message for the log that other users could read the file; empty: they could not.
	Warning string
}

// UserToken returns the token that the command line sends: SVC_TOKEN, otherwise that of the file in the data
// directory. If both are missing the error wraps fs.ErrNotExist. The variable's form is not checked, since the
// server does that.
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

// EnsureUserToken returns the token that the orchestrator accepts: SVC_TOKEN, otherwise that of the file in the
// data directory, which is created at the first start. A variable or a file without a valid token is an error;
// a file is never replaced.
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

// WorkerToken returns the token that a worker sends: SVC_WORKER_TOKEN, otherwise the stored token of its host,
// otherwise the worker token. If all are missing the error wraps fs.ErrNotExist.
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
		return Token{}, fmt.Errorf("no worker token: set SVC_WORKER_TOKEN, or write the token from the operator to %s: %w", path, err)
	}
	return fromFile(path, word, warning, false, err, isBearer)
}

// EnsureWorkerToken returns the worker token that the orchestrator accepts: SVC_WORKER_TOKEN, otherwise that of
// the file in its data directory, which is created at the first start. A host's token is an error: as the
// worker token it would authenticate every host.
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

// EnsureSigningKey returns the orchestrator's own secret, from which the tokens of runs and hosts are derived:
// SVC_SIGNING_KEY, otherwise that of the file in the data directory, which is created at the first start.
// Another key would make all of those tokens invalid. The text itself is the key, with the same result from the
// variable and from the file.
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

// SigningKeyFile returns the path and the content of the key's file; an empty key means that it cannot be read.
func SigningKeyFile(dir string) (path string, key Secret) {
	path = filepath.Join(dir, signingKeyFile)
	word, _, err := readSecret(path)
	if err != nil {
		return path, ""
	}
	return path, Secret(word)
}

// ErrOtherHost means that a data directory belongs to the worker of another host.
var ErrOtherHost = errors.New("it holds the token of another host")

// StoreHostToken stores a worker's token in a file that the orchestrator does not read. It replaces an older
// token of the same host. It does not replace a token of another host; the error is then ErrOtherHost.
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

// hostOf returns the part of a host's token that identifies the host; empty for every other token.
func hostOf(token string) string {
	if !isHostToken(token) {
		return ""
	}
	host, _, _ := strings.Cut(strings.TrimPrefix(token, svc.HostTokenPrefix), "_")
	return host
}

// EnsureInstanceID returns the identity of the worker that owns the data directory, a UUID that is generated
// once and stored. A file with other content is an error: with a new identity the host would be suspected to be
// a clone. The warning is as in Token.
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

// InstanceID returns the identity of the worker of the data directory; empty if it cannot be read.
func InstanceID(dir string) string {
	word, _, err := readSecret(filepath.Join(dir, instanceIDFile))
	if err != nil {
		return ""
	}
	return word
}

// EnsureWorkerKey returns the key with which the worker of the data directory signs its connections. It is
// generated once and stored; only its public half leaves the host. The warning is as in Token.
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

// NewToken returns a new token: 32 lower-case hex characters, 128 random bits.
func NewToken() string {
	var b [16]byte
	rand.Read(b[:]) // it never returns an error: without a source of randomness it ends the process
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

// isBearer reports whether the word may be used in an Authorization header: visible ASCII. An operator may have
// chosen a worker token of any form.
func isBearer(word string) bool {
	return word != "" && !strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r > '~' })
}
