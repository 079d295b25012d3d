package review

// List is a patch's files as people read them: one that goes and comes back as something else is one whose type changed.
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
