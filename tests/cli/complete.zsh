# Prints what a line becomes when TAB is pressed behind it: complete.zsh FOLDER-OF-_gh-advise LINE. zsh completes on a terminal only.
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= PS2=; bindkey -e; fpath=($1 \$fpath); autoload -Uz compinit && compinit -u -D; print ready"
while zpty -r shell line && [[ $line != ready* ]]; do :; done
zpty -w -n shell "$2"$'\t'
zpty -w -n shell $'\x01print -r -- became: \n'  # the line is printed instead of run
while zpty -r shell line; do
  if [[ $line == became:* ]]; then
    line=${${line#became: }//[$'\r\n']/}
    print -r -- ${line% }
    break
  fi
done
zpty -d shell
