import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { invocation } from '../invocation.ts'

/** Pause before a step that found others at work. */
const RETRY_MS = 500

export function defineRotateKey(rotate: Command, shell: Shell): void {
  rotate
    .action(async (_: unknown, command: Command) => {
      const { output, connect } = invocation(command, shell)
      const { client } = await connect()
      for (let resealed = 0; ; ) {
        const step = await client.call('rotateSecretKey', { signal: shell.signal })
        resealed += step.resealed
        if (!step.done) {
          output.note(`secrets sealed again so far: ${resealed}`)
          if (step.resealed === 0) await shell.clock.sleep(RETRY_MS, shell.signal)
          continue
        }
        if (!output.quiet) output.out(`secret key rotated to ${step.active_key} (secrets sealed again: ${resealed})`)
        for (const line of nextSteps(step.removable_keys)) output.note(line)
        return
      }
    })
    .addHelpText('afterAll', EXAMPLES)
}

const nextSteps = (removable: readonly string[]): string[] => [
  ...(removable.length === 0
    ? []
    : [`Remove ${removable.join(', ')} now: leave only the first key in LCM_SECRET_KEY of every API replica.`]),
  'Make a new backup, and delete the older ones: they contain the old key.',
]

const EXAMPLES = `
LCM keeps running. The rotation can be interrupted at any time: run the command again to continue it. In a cluster, first put a
new key in front of the old one in LCM_SECRET_KEY, followed by a comma, and restart every API replica.

Examples:
  lcm rotate-key`
