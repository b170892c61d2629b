# What bash offers behind three beginnings: complete.sh COMPLETIONS
. "$1"
offer() {
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  _tokamak
  echo "${COMPREPLY[*]}"
}
offer tokamak run --device ""
offer tokamak b
offer tokamak run --re
