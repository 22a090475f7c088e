/** Figure of 7.3: how fast the whole system runs on virtual time. `proof.md` has its results. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { atMost, conclude, measured, never, shown } from '../../report/figure-report.ts'

const { values } = parseArgs({
  options: { hours: { type: 'string', default: '24' }, workers: { type: 'string', default: '100' } },
})
const BAR_SECONDS = 30
const SIM = fileURLToPath(new URL('../../../tools/sim.mjs', import.meta.url))
/** Last line of its output. CPU seconds depend less on other load. */
const Summary = z.object({ failures: z.number(), seconds: z.number(), worker_hours_per_second: z.number() })

const args = [SIM, '--seed', '1', '--hours', values.hours, '--workers', values.workers]
const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
const summary = Summary.parse(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''))
const size = `${values.workers} workers for ${values.hours} virtual hours`
conclude({
  bench: 'simulation',
  figures: [
    atMost(`the simulation of ${size}, on one core`, BAR_SECONDS, { value: summary.seconds, unit: 's' }),
    measured('virtual worker-hours that it simulates', `${shown(summary.worker_hours_per_second)} a second of CPU`),
    never('broken invariants in it', { violation: summary.failures }),
  ],
})
