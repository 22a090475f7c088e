import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { planOf } from '../acts/plan.ts'
import { parseCommand, UsageError } from './command-options.ts'
import { readPlan } from './plan-file.ts'

const MUTANTS = ['no fencing', 'step skipped as done']
const parse = (...args: string[]) => parseCommand(args, MUTANTS)
const brisk = { workers: 3, hours: 0.5, pace: 'brisk' }

describe('the command line of the simulation', () => {
  it.each([
    [['--seed', '7'], { what: 'runs', from: 7, count: 1, size: brisk }],
    [['--runs', '5'], { what: 'runs', from: 1, count: 5, size: brisk }],
    [
      ['--runs', '5', '--from', '9', '--hours', '2.5'],
      { what: 'runs', from: 9, count: 5, size: { workers: 10, hours: 2.5, pace: 'long' } },
    ],
    [
      ['--seed', '1', '--workers', '4'],
      { what: 'runs', from: 1, count: 1, size: { workers: 4, hours: 6, pace: 'long' } },
    ],
    [['--replay', 'a.json'], { what: 'replay', file: 'a.json' }],
    [['--mutants'], { what: 'mutants', names: [] }],
    [['--mutants', 'no fencing'], { what: 'mutants', names: ['no fencing'] }],
    [['--saves', '2', '--from', '4'], { what: 'saves', from: 4, count: 2 }],
    [['--calm-days', '200', '--from', '4'], { what: 'calm-days', from: 4, count: 200 }],
    [['--crashes', '2'], { what: 'crashes', from: 1, count: 2 }],
    [['--crashes', '2', '--from', '4'], { what: 'crashes', from: 4, count: 2 }],
  ])('%j is parsed', (args, expected) => expect(parse(...args)).toEqual(expected))

  it.each([
    [[], 'choose one of --seed, --runs, --replay, --mutants, --crashes, --saves, --calm-days.'],
    [['--seed', 'abc'], '--seed takes a whole number from 0, not "abc".'],
    [['--seed', '1.5'], '--seed takes a whole number from 0, not "1.5".'],
    [['--seed', '9'.repeat(20)], '--seed takes a whole number'],
    [['--seed', '1', '--hours', '-1'], '--hours takes a number above 0, not "-1".'],
    [['--seed', '1', '--hours', '0'], '--hours takes a number above 0, not "0".'],
    [['--seed', '1', '--hours', 'Infinity'], '--hours takes a number above 0'],
    [['--seed', '1', '--hours', '9'.repeat(400)], '--hours takes a number above 0'],
    [['--seed', '1', '--workers', '0'], '--workers takes a whole number from 1, not "0".'],
    [['--runs', '0'], '--runs takes a whole number from 1, not "0".'],
    [['--runs', '3', '--from', 'x'], '--from takes a whole number from 0, not "x".'],
    [['--crashes', ''], '--crashes takes a whole number from 1, not "".'],
    [['--mutants', 'none such'], 'unknown mutant "none such"; choose from "no fencing", "step skipped as done".'],
    [['--seed', '1', '--runs', '2'], "--seed, --runs can't be combined."],
    [['--seed', '1', '--from', '2'], "--from can't be used with --seed."],
    [['--mutants', '--hours', '2'], "--hours can't be used with --mutants."],
    [['--seed', '1', 'no fencing'], "no fencing can't be used with --seed."],
    [['--speed', '1'], "Unknown option '--speed'"],
    [['--seed'], "Option '--seed <value>' argument missing"],
  ])('%j is refused with the problem and the usage', (args, problem) => {
    const refused = () => parse(...args)
    expect(refused).toThrow(UsageError)
    expect(refused).toThrow(problem)
    expect(refused).toThrow('--runs K [--from N] [--hours H] [--workers W]')
  })
})

describe('a plan to replay', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lcm-plan-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const written = (text: string): string => {
    const file = join(folder, 'plan.json')
    writeFileSync(file, text)
    return file
  }

  it('is read from the file that a run has written', () => {
    const plan = planOf(3, { workers: 3, hours: 0.5, pace: 'brisk' })
    expect(readPlan(written(JSON.stringify(plan)))).toEqual(plan)
  })

  it.each([
    ['nothing', '', 'not JSON'],
    ['half of it', '{"seed": 1, ', 'not JSON'],
    ['something else', '[]', 'not a plan'],
    ['null', 'null', 'not a plan'],
    ['no size', '{"seed": 1, "acts": []}', 'not a plan'],
    [
      'an unknown act',
      '{"seed":1,"size":{"workers":3,"hours":1,"pace":"brisk"},"acts":[{"act":"toString","atMs":1,"who":0,"much":0,"forMs":0}]}',
      'not a plan',
    ],
  ])('is refused when it is %s', (_name, text, why) => {
    const file = written(text)
    expect(() => readPlan(file)).toThrow(UsageError)
    expect(() => readPlan(file)).toThrow(`${file} can't be replayed (${why}): pass`)
  })

  it('is refused when the file is missing', () => {
    expect(() => readPlan(join(folder, 'none'))).toThrow("none can't be replayed (ENOENT): pass")
    expect(() => readPlan(folder)).toThrow("can't be replayed (EISDIR): pass")
  })
})
