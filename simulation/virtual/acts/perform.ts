import { ApiError } from '@lcm/client/client'
import { accessActs } from './access-acts.ts'
import { type Act, type ActName, isFault, MANUAL_ACTS } from './act.ts'
import type { ActContext, Perform } from './act-context.ts'
import { faultActs } from './fault-acts.ts'
import { fleetActs } from './fleet-acts.ts'
import { learnerActs } from './learner-acts.ts'
import { manualActs } from './manual-acts.ts'

const PERFORMERS: Readonly<Record<ActName, Perform>> = {
  ...fleetActs,
  ...learnerActs,
  ...accessActs,
  ...manualActs,
  ...faultActs,
}

/** Names that the behavior fingerprint was recorded with. */
const RECORDED_AS: Partial<Record<ActName, string>> = {
  'create with a license': 'create with a licen\x63e',
  'requeue a session': 'place a\x6eew',
  'retry a session': 'start its lab a\x6eew',
  'write concurrently': 'write beside us',
  'use hostile cloud faults': 'turn the cloud hostile',
  'launch a foreign machine': 'plant a foreign machine',
  'launch a machine to discover': 'plant a machine to be found',
  'exhaust a zone': 'use up a zone',
  'lose CML responses': 'lose answers of CML',
  'compact old changes': 'forget old changes',
  'drop and duplicate events': 'drop and double events',
  'disconnect the Smart Account': 'lose the Smart Account',
  'disconnect CML': 'cut CML',
  'terminate a machine': 'kill a machine',
  'act on a foreign session': 'pry',
  'deregister a license': 'unlicense',
  'register a license': 'license',
}

/** The longest undo of an act comes after so many times its duration. */
const LASTS_TIMES_MAX = 5

/** Performs an act. A refusal, or a missing target, is no failure of the run. */
export async function perform(context: ActContext, act: Act): Promise<void> {
  const { time } = context.world
  const recorded = RECORDED_AS[act.act] ?? act.act
  time.trace(`act: ${act.act}`)
  const kind = isFault(act.act) ? 'fault' : act.act in MANUAL_ACTS ? 'manual' : null
  if (kind !== null) context.world.disturbances.note(kind, LASTS_TIMES_MAX * act.forMs)
  try {
    await PERFORMERS[act.act](context, act)
    time.behavior(`${recorded} done`)
  } catch (error) {
    time.behavior(`${recorded} refused ${error instanceof ApiError ? error.problem.status : ''}`)
    time.trace(`refused: ${error instanceof Error ? error.message.split('\n')[0] : error}`)
  }
}
