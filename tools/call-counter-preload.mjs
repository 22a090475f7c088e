// Loaded into a product process by count-write-path.mjs: counts calls of functions with V8's precise coverage and sends the counts of our
// own source files to the parent process whenever it asks. Each answer resets the counts.
import { Session } from 'node:inspector/promises'

const root = process.env.CALLS_ROOT
const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

process.on('message', async () => {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  process.send(result.filter(({ url }) => url.startsWith(root) && !url.includes('/node_modules/')).map(callsIn))
})
process.channel.unref()

/** A function without a name at offset 0 is the top level of its file. `__name` is the translator's, not ours. */
function callsIn({ url, functions }) {
  const calls = functions.flatMap(({ functionName: name, ranges: [{ startOffset, count }] }) => {
    const isTopLevel = name === '' && startOffset === 0
    return count > 0 && !isTopLevel && name !== '__name' ? [[`${name}@${startOffset}`, count]] : []
  })
  return [url.slice(root.length), calls]
}
