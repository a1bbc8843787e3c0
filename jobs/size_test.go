package jobs

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSizesAreReadInUnitsOfBothKinds(t *testing.T) {
	for text, want := range map[string]Size{
		"512MiB": 512 << 20, "2GiB": 2 << 30, "1.5GiB": 3 << 29, "64kB": 64_000, "64KB": 64_000, "64KiB": 64 << 10,
		"1TB": 1e12, "1TiB": 1 << 40, "3MB": 3e6, "1000B": 1000, "0B": 0, "512 MiB": 512 << 20, "512mib": 512 << 20,
		"0.1KiB": 102, ".5KiB": 512, "007B": 7, "8192TiB": MaxSize, "9007199254740991B": MaxSize - 1,
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%s: %d, %v: want %d", text, got, err, want)
		}
	}
}

func TestWhatIsNoSizeSaysWhatWouldBe(t *testing.T) {
	for _, text := range []string{
		"", "B", "MiB", "512", "512M", "512Mi", "1G", "-1MiB", "+1MiB", "1e3MB", "0x10B", "1_000B", "1,5MiB", "1.5.5MB",
		"1MiBB", "1MiB ", " 1MiB", "1  MiB", "InfB", "NaNB", "1MiB/s", "é MiB", "\xffB", strings.Repeat("1", 500),
	} {
		if got, err := ParseSize(text); err == nil || !strings.HasSuffix(err.Error(), `is not a size: want one such as "512MiB" or "2GiB"`) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"8193TiB", "9007199254740994B", "99999999TiB", strings.Repeat("9", 300) + "TiB"} {
		if got, err := ParseSize(text); err == nil || !strings.HasSuffix(err.Error(), "is too large: want at most 8192TiB") {
			t.Errorf("%.40q: %d, %v", text, got, err)
		}
	}
}

func TestSizeIsWrittenInTheUnitThatGivesItExactly(t *testing.T) {
	for size, want := range map[Size]string{
		0: "0B", 1: "1B", 1023: "1023B", 1024: "1KiB", 1536: "1536B", 3 << 19: "1536KiB", 512 << 20: "512MiB",
		1e9: "1000000000B", 5 << 40: "5TiB", MaxSize: "8192TiB",
	} {
		if got := size.String(); got != want {
			t.Errorf("%d: %s: want %s", int64(size), got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		size := Size(rapid.Int64Range(0, int64(MaxSize)).Draw(t, "size"))
		if rapid.Bool().Draw(t, "round") {
			size &^= 1<<20 - 1
		}
		if got, err := ParseSize(size.String()); err != nil || got != size {
			t.Fatalf("%d is written %s, which is %d, %v", int64(size), size, int64(got), err)
		}
	})
}

func FuzzParseSize(f *testing.F) {
	for _, seed := range []string{"512MiB", "1.5 gb", "0B", "8192TiB", ".B", "1e9B", "9007199254740993B", "-"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		size, err := ParseSize(text)
		if err != nil {
			return
		}
		if size < 0 || size > MaxSize {
			t.Errorf("%q is %d", text, int64(size))
		}
		if again, err := ParseSize(size.String()); err != nil || again != size {
			t.Errorf("%q is %d, written %s, which is %d, %v", text, int64(size), size, int64(again), err)
		}
	})
}
