package provider

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"svc"
	"svc/atomicfile"
)

// RenderHooks writes the entry's hook config for one run to dir, which it makes accessible to the owner only,
// and returns the file's path. For an entry without a template it writes nothing and returns "".
//
// The values are inserted into JSON, TOML or shell text, so an API URL with characters that could have a
// meaning there is an error.
func (e Entry) RenderHooks(dir, apiURL, runID string) (path string, err error) {
	if e.HooksTemplate == "" {
		return "", nil
	}
	apiURL = strings.TrimRight(apiURL, "/")
	if err := plainURL(apiURL); err != nil {
		return "", fmt.Errorf("render hook config of %s: %w", e.ID, err)
	}
	if !svc.IsID(runID) {
		return "", fmt.Errorf("render hook config of %s: %q is not a run id", e.ID, runID)
	}
	text := expand(e.HooksTemplate, func(name string) string {
		if name == "run_id" {
			return runID
		}
		return apiURL
	})
	path = filepath.Join(dir, e.HooksName)
	if err := writePrivate(path, text); err != nil {
		return "", fmt.Errorf("write hook config of %s: %w", e.ID, err)
	}
	return path, nil
}

func plainURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("the API URL is not an http or https URL")
	}
	if strings.Trim(text, bareKey+".~:/[]@%+") != "" {
		return errors.New("the API URL has characters that a hook config must not have")
	}
	return nil
}

// writePrivate makes the directory and the file accessible to the owner only, also if the directory exists
// already.
func writePrivate(path, text string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	return atomicfile.Replace(path, []byte(text), 0o600)
}
