// Package review reads the patches that git wrote of checkpoints: which files a change has, how two checkpoints differ, and
// where lines of one are in a later one. It needs neither git nor the repository: two patches on top of the same commit
// say all that differs between their ends, because what neither of them touches is the same in both. It also composes the
// prompt that a person's comments are sent with. Pure: patches come as readers.
package review
