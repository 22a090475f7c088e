import { Command } from 'commander'
import { expect, it } from 'vitest'
import { addGlobalOptions } from './global-options.ts'
import { type Invocation, invocation } from './invocation.ts'
import { capturedShell } from './testing/captured-shell.ts'

async function invoked(args: readonly string[], env = {}, isTty = true): Promise<Invocation> {
  const seen: Invocation[] = []
  const { shell } = capturedShell({ isTty, env })
  const program = new Command()
  addGlobalOptions(program)
  program.command('act').action((_, command: Command) => {
    seen.push(invocation(command, shell))
  })
  await program.parseAsync(['act', ...args], { from: 'user' })
  const [only] = seen
  if (only === undefined) throw new Error('the command did not run')
  return only
}

it('reads the global options', async () => {
  const { globals, output } = await invoked(['--url', 'http://x', '-q'])
  expect(globals).toEqual({ url: 'http://x', quiet: true, color: true })
  expect(output.quiet).toBe(true)
})

it.each([
  [[], {}, true, true],
  [['--no-color'], {}, true, false],
  [[], { NO_COLOR: '1' }, true, false],
  [[], { NO_COLOR: '' }, true, true],
  [[], { TERM: 'dumb' }, true, false],
  [[], {}, false, false],
])('with %j and %j on a terminal (%s) colors: %s', async (args, env, isTty, isColored) => {
  const { output } = await invoked(args, env, isTty)
  expect(output.colors.isColorSupported).toBe(isColored)
})
