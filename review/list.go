package review

// List merges, for display, a deletion and an addition of the same path into one file with the status TypeChanged.
func List(files []*File) []*File {
	out := make([]*File, 0, len(files))
	gone := map[string]int{}
	for _, f := range files {
		if i, ok := gone[f.Path]; ok && f.Status == Added {
			both := *out[i]
			both.Status, both.Mode, both.OID = TypeChanged, f.Mode, f.OID
			both.Additions += f.Additions
			both.Binary, both.Unknown = both.Binary || f.Binary, both.Unknown || f.Unknown
			out[i] = &both
			continue
		}
		if f.Status == Deleted {
			gone[f.Path] = len(out)
		}
		out = append(out, f)
	}
	return out
}
