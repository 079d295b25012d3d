package svc

import (
	"strconv"
	"strings"
)

// ItemRef is a work item's short name: its project's slug in capitals and its number there, such as CHECKOUT-12.
func ItemRef(slug string, number int64) string {
	return strings.ToUpper(slug) + "-" + strconv.FormatInt(number, 10)
}

// ParseItemRef takes a short name apart, in capitals or not. What has another form is none; an id of a work
// item may have this form too, so ask [IsID] first.
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
