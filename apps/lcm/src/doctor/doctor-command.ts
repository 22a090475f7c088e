import { type Command, Option } from 'commander'
import { CliError, EXIT } from '../cli/cli-error.ts'
import type { Shell } from '../cli/command-dependencies.ts'
import { type Invocation, invocation } from '../cli/invocation.ts'
import { durationMs } from '../cli/option-parsers.ts'
import { toJson, toYaml } from '../cli/terminal/data-text.ts'
import type { Colors } from '../cli/terminal/output.ts'
import { printable } from '../cli/terminal/table.ts'
import { examine } from './examine.ts'
import type { Finding, Severity } from './finding.ts'
import { TIMEOUT_MS_DEFAULT } from './timeout.ts'

const FORMATS = ['table', 'json', 'yaml'] as const

interface DoctorOptions {
  readonly output: (typeof FORMATS)[number]
  readonly timeout: number
}

export function defineDoctor(doctor: Command, shell: Shell): void {
  doctor
    .addOption(new Option('-o, --output <format>', 'Output format').choices(FORMATS).default('table'))
    .addOption(
      new Option('--timeout <duration>', 'Timeout for each check')
        .argParser(durationMs)
        .default(TIMEOUT_MS_DEFAULT, '5s'),
    )
    .action(async (options: DoctorOptions, command: Command) => runDoctor(options, invocation(command, shell)))
    .addHelpText('afterAll', EXAMPLES)
}

const EXAMPLES = `
Checks this computer, the API, the services and the fleet. Also checks the store, etcd and AWS if environment variables configure
them, so run it in the environment of a service to check everything. It has the worker-controller ask every CML, which takes up to 10 s,
and changes nothing: AWS permissions are tested with dry runs.

The exit code is 1 if a check fails: LCM does not work, or people are affected, with sessions that are down or not placed in time, or on
a worker whose CML does not respond. It is 0 with warnings.

Examples:
  lcm doctor                    show all results, and how to fix problems
  lcm doctor --quiet            show only problems
  lcm doctor -o json | jq '.items[] | select(.severity == "failure")'`

async function runDoctor(
  { output: format, timeout }: DoctorOptions,
  { shell, output, globals }: Invocation,
): Promise<void> {
  const items = await examine(globals, shell, timeout)
  const failures = items.filter(({ severity }) => severity === 'failure').length
  const answer = { healthy: failures === 0, items }
  if (format === 'json') output.out(toJson(answer, 2))
  else if (format === 'yaml') output.out(await toYaml(answer))
  else
    linesOf(
      items.filter(({ severity }) => !output.quiet || severity !== 'ok'),
      output.colors,
    ).forEach(output.out)
  if (failures > 0) {
    const count = failures === 1 ? '1 check failed' : `${failures} checks failed`
    throw new CliError(EXIT.failed, count, 'apply the fixes shown after the arrows and run doctor again')
  }
  const warnings = items.filter(({ severity }) => severity === 'warning').length
  output.note(`0 errors, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`)
}

const MARKS: Readonly<Record<Severity, string>> = { ok: '✓', warning: '!', failure: '✗' }

const inkOf = (severity: Severity, colors: Colors): ((text: string) => string) =>
  severity === 'ok' ? colors.green : severity === 'warning' ? colors.yellow : colors.red

function linesOf(findings: readonly Finding[], colors: Colors): string[] {
  const width = Math.max(0, ...findings.map(({ check }) => check.length))
  const indent = ' '.repeat(width + 4)
  return findings.flatMap(({ check, severity, message, advice }) => [
    `${inkOf(severity, colors)(MARKS[severity])} ${check.padEnd(width)}  ${printable(message)}`,
    ...(advice === null ? [] : [`${indent}→ ${printable(advice)}`]),
  ])
}
