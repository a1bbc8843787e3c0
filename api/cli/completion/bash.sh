# bash completion of nightshift; in ~/.bashrc: source <(nightshift completion bash)
_nightshift() {
    local rest=${COMP_LINE:0:COMP_POINT} program=${COMP_WORDS[0]} word i words=() n=0
    # Bash breaks words at : and = too. What follows a word without a space still belongs to it.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $n -gt 0 && $rest != [[:space:]]* ]]; then
            ((n--))
        else
            rest=${rest#"${rest%%[![:space:]]*}"}
            words[n]=
        fi
        [[ $i -eq $COMP_CWORD ]] && word=$rest # as far as the cursor
        words[n]+=$word
        rest=${rest#"$word"}
        ((n++))
    done
    local typed=${words[n-1]} cut="" kind line found=()
    # Bash replaces what follows the last break alone.
    case $typed in
        *[:=]*)
            line=${typed##*[:=]}
            line=${typed%"$line"}
            [[ $COMP_WORDBREAKS == *"${line: -1}"* ]] && cut=$line
            ;;
    esac
    [[ $program == "~/"* ]] && program=$HOME/${program:2}
    COMPREPLY=()
    {
        IFS= read -r kind || return 0
        while IFS=$'\t' read -r word line; do
            found+=("$word")
        done
    } < <("$program" __complete "${words[@]:1}" 2>/dev/null)
    case $kind in
        :files) compopt -o default 2>/dev/null; return 0 ;;
        :folders) compopt -o dirnames 2>/dev/null; return 0 ;;
    esac
    for word in ${found[@]+"${found[@]}"}; do
        [[ $word == */ ]] && compopt -o nospace 2>/dev/null
        word=${word#"$cut"}
        [[ $word == *[!a-zA-Z0-9._:=/@%+,-]* ]] && printf -v word %q "$word"
        COMPREPLY+=("$word")
    done
}
# The newest run stands first, where bash lets it.
complete -o nosort -F _nightshift nightshift 2>/dev/null || complete -F _nightshift nightshift
