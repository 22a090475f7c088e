import { ApiError, UnreachableError } from '@lcm/client/client'
import type { ProblemCode } from '@lcm/contract/problem-codes'
import { ProblemError } from '@lcm/contract/problems'
import { expect, it } from 'vitest'
import { CliError } from './cli-error.ts'
import { ConnectionError } from './connection.ts'
import { failureOf, failureText } from './failure-message.ts'

it('prints each invalid field', () => {
  const errors = [
    { path: 'body.aws_region', message: 'a region such as us-east-1' },
    { path: 'body', message: 'unknown key "color"' },
  ]
  const problem = new ProblemError('validation_failed', 'all of it once more', errors)
  expect(failureOf(new ApiError(problem.toProblem('/workers')))).toEqual({
    message: 'invalid values',
    advice: 'correct them and try again',
    details: ['aws_region: a region such as us-east-1', '(all): unknown key "color"'],
  })
})

it('names the lines of a file rather than the field that held it', () => {
  const errors = [
    { path: 'body.topology.nodes.1', message: 'id n0 is that of node 0 too', line: 10 },
    { path: 'body.topology', message: 'invalid YAML', line: 1 },
  ]
  const problem = new ProblemError('topology_invalid', 'line 10 (and 1 more)', errors)
  expect(failureOf(new ApiError(problem.toProblem('/lablet-definitions')))).toEqual({
    message: "CML can't import this file",
    advice: 'fix these lines and try again',
    details: ['line 10: nodes.1: id n0 is that of node 0 too', 'line 1: invalid YAML'],
  })
})

it('gives advice for the command line', () => {
  const sentence = (code: ProblemCode, detail: string) =>
    failureText(failureOf(new ApiError(new ProblemError(code, detail).toProblem('/workers'))))
  expect(sentence('forbidden', 'eve is user.')).toBe(
    'eve is user: ask an admin to do it, or to give you a role that allows it',
  )
  expect(sentence('unauthenticated', 'send a header')).toMatch(
    'not authenticated: set a valid token with --token or LCM_TOKEN',
  )
  expect(sentence('worker_terminating', 'create a new one')).toBe('create a new one')
})

it('prints errors of LCM unchanged', () => {
  const failure = failureOf(new CliError(1, 'no', 'ask again', ['because']))
  expect(failure).toEqual({ message: 'no', advice: 'ask again', details: ['because'] })
  expect(failureText(failure)).toBe('no: ask again')
  expect(failureText(failureOf(new UnreachableError('silence')))).toBe('silence')
  expect(failureOf(new ConnectionError('silence', 'start it'))).toMatchObject({
    message: 'silence',
    advice: 'start it',
  })
  expect(failureOf(new CliError(1, 'refused by eve: \u001b[2J', '\u001b[2J'))).toMatchObject({
    message: 'refused by eve:  [2J',
    advice: ' [2J',
  })
})

it('prints the location of a defect', () => {
  const { message } = failureOf(new TypeError('oops'))
  expect(message).toMatch(/^internal error in lcm, please report it: TypeError: oops at .*failure-message\.test\.ts/)
  expect(failureOf('a string').message).toContain('a string')
})
