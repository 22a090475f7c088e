import { Argument, type Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { invocation } from '../invocation.ts'
import { completionScript, SHELLS, type ShellName } from './completion-suggestions.ts'

export function defineCompletion(completion: Command, shell: Shell): void {
  completion
    .addArgument(new Argument('<shell>', 'Shell to complete in').choices(SHELLS))
    .action(async (name: ShellName, _: unknown, command: Command) =>
      invocation(command, shell).output.out(completionScript(name)),
    )
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
The script completes commands, options and the current names of workers, definitions, sessions, labs and templates.

Examples:
  source <(lcm completion bash)                  in ~/.bashrc
  source <(lcm completion zsh)                   in ~/.zshrc, after compinit
  lcm completion fish > ~/.config/fish/completions/lcm.fish`
