// Has promtool of Prometheus fire every shipped alert on recorded series. Plain Node.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ensureProgram } from '../programs/ensure-program.mjs'
import { root } from '../setup.mjs'

const CASES = join(root, 'tools/interop/alert-cases.yaml')
const RULES = join(root, 'deploy/prometheus/alerts.yaml')

/** Resolves with the path of `promtool`. Rejects with one sentence. */
export const ensurePromtool = () =>
  ensureProgram({
    programs: ['promtool'],
    debianPackage: 'prometheus',
    service: 'prometheus',
    howToGetIt:
      'promtool is not on the PATH; install prometheus (Debian, Ubuntu), or put the binary from prometheus.io/download there.',
  })

/** Each alert with its cases counts as one test. */
export function judgeAlerts(promtool) {
  const alerts = readFileSync(CASES, 'utf8').match(/^- name: /gm)?.length ?? 0
  for (const args of [
    ['check', 'rules', RULES],
    ['test', 'rules', CASES],
  ]) {
    const { status, stdout, stderr } = spawnSync(promtool, args, { encoding: 'utf8' })
    if (status === 0) continue
    console.log(`FAILED  promtool ${args.join(' ')}\n${stdout}${stderr}`)
    return { passed: 0, failed: 1 }
  }
  console.log(`promtool: ${alerts} alerts fire on their series`)
  return { passed: alerts, failed: 0 }
}
