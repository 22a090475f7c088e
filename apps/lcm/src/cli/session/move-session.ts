import { type Client, unlessMissing } from '@lcm/client/client'
import type { Save } from '@lcm/domain/save/save'
import { moveWarning } from '@lcm/domain/session/session-move-request'
import type { Command } from 'commander'
import type { Shell } from '../command-dependencies.ts'
import { findSession } from '../find-resource.ts'
import type { Invocation } from '../invocation.ts'
import { confirmWarning } from '../terminal/confirm-by-name.ts'
import { type ActionOptions, addAction, settle } from '../waitable-command.ts'
import { namesFor } from '../worker/worker-names.ts'
import { distanceOf } from './session-view.ts'
import { sessionSettling } from './session-wait-goal.ts'

interface MoveOptions extends ActionOptions {
  readonly yes?: boolean
}

export function defineMove(group: Command, shell: Shell): void {
  addAction<MoveOptions>(group, shell, {
    noun: 'session',
    summary: 'Move a session to another worker; its lab starts again from its last save',
    run: move,
  }).option('-y, --yes', 'Skip the confirmation')
  const examples = [
    'lcm move session ls-0n4k2m7a8q1cd --reason "its CML does not answer" --wait',
    'lcm move session ls-0n4k2m7a8q1cd --yes     skip the confirmation, for scripts',
  ]
  group.addHelpText('afterAll', `\nExamples:\n${examples.map(line => `  ${line}`).join('\n')}`)
}

async function move(id: string, options: MoveOptions, invoked: Invocation): Promise<void> {
  const { signal, clock } = invoked.shell
  const { client } = await invoked.connect()
  const found = await findSession(client, id, signal)
  if (!options.yes) {
    const save = found.save.save_id === null ? null : await savedLast(client, found.save.save_id, signal)
    const warning = moveWarning(found, save === null ? null : savedAtText(save, clock.now()))
    await confirmWarning({ name: found.id, expected: 'its id', warning, refusal: warning.slice(0, -1) }, invoked)
  }
  const session = await client.call('moveSession', {
    params: { id: found.id },
    body: { reason: options.reason },
    signal,
  })
  const settling = sessionSettling(await namesFor(options, client, signal))
  const message = `session ${session.id} moves to another worker; it is ${session.status} now`
  return settle({ client, item: session, settling, message }, options, invoked)
}

const savedLast = (client: Client, id: string, signal: AbortSignal): Promise<Save | null> =>
  unlessMissing(client.call('getSave', { params: { id }, signal }))

const savedAtText = ({ created_at }: Save, nowMs: number): string => `${created_at} (${distanceOf(created_at, nowMs)})`
