// Package inotifytest lets a test hear from the kernel what a program does with folders, in the order in which it did it.
package inotifytest
