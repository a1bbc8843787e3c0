# fish completion of nightshift; nightshift completion fish > ~/.config/fish/completions/nightshift.fish
function __nightshift_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    set -l lines ($program __complete $words[2..-1] "$typed" 2>/dev/null)
    switch "$lines[1]"
        case :files :folders
            set -l before (string match -r -- '^--[^=]*=' $typed)
            set -l path (string replace -r -- '^--[^=]*=' '' $typed)
            if test "$lines[1]" = :folders
                printf '%s\n' "$before"(__fish_complete_directories "$path")
            else
                printf '%s\n' "$before"(__fish_complete_path "$path")
            end
        case '*'
            printf '%s\n' $lines[2..-1]
    end
end
complete -c nightshift -f -k -a '(__nightshift_complete)'
