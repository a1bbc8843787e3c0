#compdef nightshift
# zsh completion of nightshift; in ~/.zshrc, behind compinit: source <(nightshift completion zsh)
_nightshift() {
    local -a lines found shown
    local program=${(Q)words[1]} line word
    [[ $program == "~/"* ]] && program=$HOME/${program#\~/}
    lines=("${(@f)$("$program" __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    case $lines[1] in
        :files) compset -P '--*='; _files; return ;;
        :folders) compset -P '--*='; _files -/; return ;;
    esac
    for line in "${(@)lines[2,-1]}"; do
        word=${line%%$'\t'*}
        [[ -z $word ]] && continue
        line=${line#*$'\t'}
        found+=("$word")
        shown+=("$word${line:+  -- $line}")
    done
    (( $#found )) || return 1
    local -a open closed openshown closedshown
    local i
    for ((i = 1; i <= $#found; i++)); do
        if [[ $found[i] == */ ]]; then
            open+=("$found[i]"); openshown+=("$shown[i]")
        else
            closed+=("$found[i]"); closedshown+=("$shown[i]")
        fi
    done
    local -a how
    [[ "$shown" == *" -- "* ]] && how=(-l)
    (( $#open )) && compadd -V nightshift $how -S '' -d openshown -a open
    (( $#closed )) && compadd -V nightshift $how -d closedshown -a closed
    return 0
}
compdef _nightshift nightshift
if [[ $funcstack[1] == _nightshift ]]; then
    _nightshift "$@"
fi
