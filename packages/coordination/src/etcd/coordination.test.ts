import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { silentLogger } from '@lcm/runtime'
import { systemClock } from '@lcm/runtime/clock'
import { expect, it } from 'vitest'
import { etcdCoordination } from './coordination.ts'

it('rejects invalid endpoints and an empty list before it starts', () => {
  const open = (...endpoints: readonly string[]) =>
    etcdCoordination({ endpoints, clock: systemClock, logger: silentLogger })
  expect(() => open()).toThrow(expect.objectContaining({ code: 'etcd_endpoint_invalid' }))
  expect(() => open('localhost:2379', 'not an endpoint')).toThrow('"not an endpoint" is not an etcd endpoint')
})

it('loads neither gRPC nor protobuf on import', () => {
  const script = `
    import { createRequire } from 'node:module'
    await import(${JSON.stringify(fileURLToPath(new URL('coordination.ts', import.meta.url)))})
    const loaded = Object.keys(createRequire(import.meta.url).cache).filter(path => /grpc|protobuf/.test(path))
    process.stdout.write(String(loaded.length))
  `
  const options = { cwd: fileURLToPath(new URL('..', import.meta.url)), encoding: 'utf8' } as const
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', script],
    options,
  )
  expect([stdout, stderr]).toEqual(['0', ''])
})
