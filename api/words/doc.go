// Package words says in sentences where runs and groups stand, why attempts ended as they did, and how long
// things took: the same on a terminal and on a page.
//
// It owns the wording; it must not know where it is shown. What others wrote, such as error messages, is
// part of the sentences as it came: whoever shows them escapes them, or cleans them with Clean.
package words
