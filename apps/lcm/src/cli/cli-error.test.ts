import { ApiError, UnreachableError } from '@lcm/client/client'
import { PROBLEMS, type ProblemCode } from '@lcm/contract/problem-codes'
import { ProblemError } from '@lcm/contract/problems'
import { CommanderError } from 'commander'
import { expect, it } from 'vitest'
import { CliError, EXIT, exitCodeOf, isPassing } from './cli-error.ts'

const refused = (code: ProblemCode) => new ApiError(new ProblemError(code, 'no').toProblem('/x'))

it.each([
  ['unauthenticated', 5],
  ['forbidden', 5],
  ['not_found', 3],
  ['template_not_found', 3],
  ['definition_not_found', 3],
  ['session_over', 4],
  ['lab_in_use', 4],
  ['topology_invalid', 1],
  ['worker_protected', 4],
  ['version_mismatch', 4],
  ['validation_failed', 1],
  ['template_disabled', 1],
  ['internal_error', 1],
  ['store_unavailable', 6],
] as const)('answers %s with exit code %i', (code, exitCode) => expect(exitCodeOf(refused(code))).toBe(exitCode))

it('has a nonzero exit code for every refusal of the contract', () => {
  for (const [code, { status, title }] of Object.entries(PROBLEMS)) {
    const error = new ApiError({ type: '', title, status, detail: '', code })
    expect(exitCodeOf(error), code).toBeGreaterThan(0)
  }
})

it('does not treat a 404 of another server as an unknown resource', () => {
  const page = { type: 'about:blank', title: 'Unexpected answer', status: 404, detail: '', code: 'unknown' }
  expect(exitCodeOf(new ApiError(page))).toBe(EXIT.unreachable)
  expect(exitCodeOf(new ApiError({ ...page, status: 403 }))).toBe(EXIT.notAllowed)
})

it('distinguishes usage errors, help, no response and defects', () => {
  expect(exitCodeOf(new CommanderError(1, 'commander.unknownOption', ''))).toBe(EXIT.usage)
  expect(exitCodeOf(new CommanderError(0, 'commander.helpDisplayed', ''))).toBe(EXIT.ok)
  expect(exitCodeOf(new UnreachableError('silence'))).toBe(EXIT.unreachable)
  expect(exitCodeOf(new CliError(4, 'two of them'))).toBe(EXIT.conflict)
  expect(exitCodeOf(new TypeError('oops'))).toBe(EXIT.failed)
})

it('retries only errors that may be temporary', () => {
  expect(isPassing(new UnreachableError('silence'))).toBe(true)
  expect(isPassing(refused('store_unavailable'))).toBe(true)
  expect(isPassing(refused('too_many_clients'))).toBe(true)
  expect(isPassing(refused('unauthenticated'))).toBe(false)
  expect(isPassing(new TypeError('oops'))).toBe(false)
})
