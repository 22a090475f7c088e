import { Argument, type Command } from 'commander'
import { completionScript, SHELLS, type ShellName } from '../completion.ts'
import { invocation } from '../invocation.ts'
import type { Shell } from '../shell.ts'

/** `whole` is the program with all its groups defined, or there would be nothing to complete in them. */
export function defineCompletion(completion: Command, shell: Shell, whole: () => Promise<Command>): void {
  completion
    .addArgument(new Argument('<shell>', 'the shell to make it for').choices(SHELLS))
    .action(async (name: ShellName, _: unknown, command: Command) =>
      invocation(command, shell).output.out(completionScript(await whole(), name)),
    )
    .addHelpText(
      'afterAll',
      '\nExamples:\n  source <(lcm completion bash)     in ~/.bashrc\n  source <(lcm completion zsh)      in ~/.zshrc, after compinit',
    )
}
