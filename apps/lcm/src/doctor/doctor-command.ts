import { type Command, Option } from 'commander'
import { CliError, EXIT } from '../cli/exit-code.ts'
import { durationMs, type Invocation, invocation } from '../cli/invocation.ts'
import { toYaml } from '../cli/resource-view.ts'
import type { Shell } from '../cli/shell.ts'
import type { Colors } from '../cli/terminal/output.ts'
import { printable } from '../cli/terminal/table.ts'
import { examine } from './examine.ts'
import type { Finding, Severity } from './finding.ts'
import { PATIENCE_MS_DEFAULT } from './time-limit.ts'

const FORMATS = ['table', 'json', 'yaml'] as const

interface DoctorOptions {
  readonly output: (typeof FORMATS)[number]
  readonly timeout: number
}

export function defineDoctor(doctor: Command, shell: Shell): void {
  doctor
    .addOption(new Option('-o, --output <format>', 'how to print it').choices(FORMATS).default('table'))
    .addOption(
      new Option('--timeout <duration>', 'how long any one check may take')
        .argParser(durationMs)
        .default(PATIENCE_MS_DEFAULT, '5s'),
    )
    .action(async (options: DoctorOptions, command: Command) => runDoctor(options, invocation(command, shell)))
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
It looks at this machine, the API, the services, the fleet and, as far as the environment names them, at the store, etcd and
AWS. It changes nothing, tries AWS by dry runs, and ends with 1 when something fails. Run it with the environment of a service to
have all of that looked at, too.

Examples:
  lcm doctor                    what is wrong, and what to do about it
  lcm doctor --quiet            the same without what is well
  lcm doctor -o json | jq '.items[] | select(.severity == "failure")'`

async function runDoctor(
  { output: format, timeout }: DoctorOptions,
  { shell, output, globals }: Invocation,
): Promise<void> {
  const items = await examine(globals, shell, timeout)
  const failures = items.filter(({ severity }) => severity === 'failure').length
  const answer = { healthy: failures === 0, items }
  if (format === 'json') output.out(JSON.stringify(answer, null, 2))
  else if (format === 'yaml') output.out(await toYaml(answer))
  else
    linesOf(
      items.filter(({ severity }) => !output.quiet || severity !== 'ok'),
      output.colors,
    ).forEach(output.out)
  if (failures > 0) {
    const said = failures === 1 ? '1 check fails' : `${failures} checks fail`
    throw new CliError(EXIT.failed, `${said}: do what stands behind the arrows, then repeat`)
  }
  const warnings = items.filter(({ severity }) => severity === 'warning').length
  output.note(warnings === 0 ? 'All is well.' : `Nothing fails; ${warnings} to look at.`)
}

const MARKS: Readonly<Record<Severity, string>> = { ok: '✓', warning: '!', failure: '✗' }

const inkOf = (severity: Severity, colors: Colors): ((text: string) => string) =>
  severity === 'ok' ? colors.green : severity === 'warning' ? colors.yellow : colors.red

function linesOf(findings: readonly Finding[], colors: Colors): string[] {
  const width = Math.max(0, ...findings.map(({ check }) => check.length))
  const indent = ' '.repeat(width + 4)
  return findings.flatMap(({ check, severity, sentence, next_step }) => [
    `${inkOf(severity, colors)(MARKS[severity])} ${check.padEnd(width)}  ${printable(sentence)}`,
    ...(next_step === null ? [] : [`${indent}→ ${printable(next_step)}`]),
  ])
}
