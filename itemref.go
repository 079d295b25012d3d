package svc

import (
	"strconv"
	"strings"
)

// ItemRef returns a work item's short name: its project's slug in capitals and its number there, such as CHECKOUT-12.
func ItemRef(slug string, number int64) string {
	return strings.ToUpper(slug) + "-" + strconv.FormatInt(number, 10)
}

// ParseItemRef splits a short name, in capitals or not, into slug and number. ok is false for any other form. The id
// of a work item may have this form too, so call [IsID] first.
func ParseItemRef(ref string) (slug string, number int64, ok bool) {
	at := strings.LastIndexByte(ref, '-')
	if at < 1 {
		return "", 0, false
	}
	number, err := strconv.ParseInt(ref[at+1:], 10, 64)
	if err != nil || number < 1 || strconv.FormatInt(number, 10) != ref[at+1:] {
		return "", 0, false
	}
	slug = strings.ToLower(ref[:at])
	return slug, number, slugForm.MatchString(slug)
}
