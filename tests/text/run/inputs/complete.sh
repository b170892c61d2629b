# What bash offers behind some beginnings: complete.sh COMPLETIONS
. "$1"
offer() {
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  _tokamak
  echo "${COMPREPLY[*]}"
}
cd "$(dirname "$0")" || exit 1
offer tokamak run --device ""
offer tokamak b
offer tokamak run --re
offer tokamak run --device = c
offer tokamak info --ops softm
offer tokamak opt x.fusion --passes merge-e
offer tokamak opt x.fusion --passes remove-dead,merge-e
offer tokamak opt x.fusion --dump-after c
offer tokamak cache ""
offer tokamak cache why kern
offer tokamak run x.fusion --dump host_ir,sou
offer tokamak compile x.fusion --dump kernel_
offer tokamak compile x.fusion --arch sm_9
offer tokamak bench x.fusion --grouping ""
offer tokamak run x.fusion --kernels compiled-
offer tokamak run x.fusion --repeat ""
offer tokamak run x.fusion --input vec
offer tokamak run x.fusion --input v = vec
offer tokamak run x.fusion --input = v = vec
offer tokamak run vec
