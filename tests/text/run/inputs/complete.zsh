# What zsh offers behind some beginnings, typed on a terminal: complete.zsh COMPLETIONS FOLDER
zmodload zsh/zpty
folder=$2
cp $1 $folder/_tokamak
cd ${0:h}

zpty shell zsh -f -i
zpty -w shell "PS1=; fpath=($folder \$fpath); autoload -Uz compinit; compinit -u -d $folder/dump; unsetopt zle_bracketed_paste"
# What completion functions offer is printed between < and >.
zpty -w shell 'compadd() {
  local -a found
  if [[ "$*" != *-[OAD]\ * ]]; then builtin compadd -O found "$@"; (( $#found )) && print -r -- "<${(j: :)found}>"; fi
  builtin compadd "$@"
}'

# Keys that are typed before the line editor has the terminal would be the terminal's.
zpty -w shell 'zle-line-init() print -n "REA""DY"; zle -N zle-line-init'

offer() {
  local text
  # ^U drops the line.
  zpty -w -n shell "$1"$'\t\x15'
  zpty -w shell 'print "DON""E"'
  zpty -r shell text '*DONE*READY'
  local found=
  while [[ $text == *\<*\>* ]]; do
    found+=" ${${text#*\<}%%\>*}"
    text=${text#*\>}
  done
  print -r -- "$1:$found"
}

zpty -r shell ready '*READY'
offer 'tokamak run --device '
offer 'tokamak b'
offer 'tokamak info --ops softm'
offer 'tokamak opt x.fusion --passes merge-e'
offer 'tokamak opt x.fusion --passes remove-dead,merge-e'
offer 'tokamak opt x.fusion --dump-after cha'
offer 'tokamak cache '
offer 'tokamak cache why kern'
offer 'tokamak run x.fusion --dump host_ir,sou'
offer 'tokamak compile x.fusion --arch sm_9'
offer 'tokamak bench x.fusion --grouping '
offer 'tokamak run x.fusion --repeat '
offer 'tokamak run x.fusion --input v=vec'
offer 'tokamak run vec'
zpty -d shell
