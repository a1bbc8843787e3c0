package jobs

// BodyFile is a file that holds the body of a call.
type BodyFile struct{ file *File }

// ParseBody reads a file, YAML or JSON as ParseFile does, into the value that v points to, as DecodeJSON
// does. Name is what messages call the file. The error is a *FileError.
func ParseBody(name string, data []byte, v any) (*BodyFile, error) {
	f := &File{Name: name}
	if err := f.read(data, isJSON(data)); err != nil {
		return nil, err
	}
	unread, syntax := decode(f.text, v, decodeOptions{})
	if syntax != nil {
		return nil, f.syntax(f.text, syntax.Offset, syntax.Msg)
	}
	for _, p := range unread {
		line, column := f.at(p.offset)
		f.fault(line, column, p.Location, p.Message)
	}
	if len(f.found) > 0 {
		return nil, f.invalid()
	}
	return &BodyFile{f}, nil
}

// PlaceFaults gives faults that are located such as members[3].job their place in the file.
func (b *BodyFile) PlaceFaults(list []Fault) []FileFault {
	all := make([]FileFault, len(list))
	for i, fault := range list {
		line, column := b.file.Position(fault.Location)
		all[i] = FileFault{b.file.Name, line, column, fault}
	}
	return all
}
