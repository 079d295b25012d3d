package svc

import (
	"bytes"
	"encoding/json"
)

// JSON is a value as compact JSON. Other than json.Marshal it leaves <, > and & as they are: escaped
// for HTML, which nothing of ours ends up in, each would take six bytes, and prompts are full of them.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
