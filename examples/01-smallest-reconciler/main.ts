/** Run it with `node --import tsx examples/01-smallest-reconciler/main.ts`; Ctrl-C ends it. */
import { host, systemClock } from '@lcm/runtime'
import { type Lamp, lampController } from './lamp-controller.ts'

const lamps = new Map<string, Lamp>([['hall', { id: 'hall', isDesiredOn: true, isOn: false }]])
const stop = new AbortController()
process.once('SIGINT', () => stop.abort())
systemClock.after(1_500, () => process.stdout.write(`${JSON.stringify([...lamps.values()])}\n`))
await host([lampController(lamps, systemClock)], stop.signal)
