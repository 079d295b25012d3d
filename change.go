package svc

// Change lists the files that differ between a checkpoint of a workspace and what it is compared with.
type Change struct {
	Checkpoint int           `json:"checkpoint" doc:"Number of the checkpoint"`
	Since      int           `json:"since" doc:"The earlier checkpoint that it is compared with; 0: the commit on which the work is based"`
	Tree       string        `json:"tree" doc:"Tree of the checkpoint; empty: its host did not report it"`
	Files      []ChangedFile `json:"files" nullable:"false"`
	PatchBytes int64         `json:"patch_bytes" doc:"Size of the response of GET /workspaces/{id}/diff"`
	Truncated  bool          `json:"truncated" doc:"The list has only the first files, or the patch lacks the content of those that are too_large"`
}

// ChangedFile is one file of a Change.
type ChangedFile struct {
	Path      string `json:"path" doc:"Path after the change; of a deleted file the path before it. In double quotes with git's escapes when it contains control characters, quotes, backslashes or bytes that are not valid UTF-8"`
	OldPath   string `json:"old_path" doc:"Path before the change; empty: the same path, or a new file"`
	Status    string `json:"status" enum:"added,modified,deleted,renamed,type_changed" doc:"type_changed: a file became a link or a submodule, or the reverse"`
	OldMode   string `json:"old_mode" doc:"As git writes it, such as 100644; empty: the same as mode, or there was no file"`
	Mode      string `json:"mode" doc:"After the change; empty: the patch does not say, or the file is gone"`
	Additions int    `json:"additions" doc:"Lines; 0 for a binary file"`
	Deletions int    `json:"deletions" doc:"Lines; 0 for a binary file"`
	Binary    bool   `json:"binary"`
	TooLarge  bool   `json:"too_large" doc:"Its part of the patch is larger than pages show; with since, the patch does not contain its content"`
}
