// Finds moto, an EC2 and CloudWatch that we did not write, for the suites that need one. Plain Node.
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from '../setup.mjs'
import { ensurePython } from './python-packages.mjs'

/** All that it loads, so that it judges the same everywhere. Its own list for servers adds 30 packages for other services. */
const PINNED = [
  'moto==5.2.5',
  'blinker==1.9.0',
  'boto3==1.44.0',
  'botocore==1.44.0',
  'certifi==2026.10.18',
  'cffi==2.1.1',
  'charset-normalizer==3.5.2',
  'click==8.5.1',
  'cryptography==50.0.2',
  'Flask==3.1.3',
  'flask-cors==6.0.5',
  'idna==3.20',
  'itsdangerous==2.2.0',
  'Jinja2==3.1.6',
  'jmespath==1.1.0',
  'MarkupSafe==3.0.4',
  'pycparser==3.12',
  'python-dateutil==2.9.0.post0',
  'PyYAML==6.0.3',
  'requests==2.34.2',
  'responses==0.26.3',
  's3transfer==0.19.3',
  'six==1.17.0',
  'urllib3==2.8.0',
  'Werkzeug==3.1.9',
  'xmltodict==1.0.4',
]

/**
 * Resolves with the command of a server on a free port of the loopback interface, which prints its address when it is
 * ready and ends when its standard input does. Rejects with one sentence.
 */
export async function ensureMoto() {
  const python = await ensurePython('moto', PINNED)
  return [python, '-B', join(root, 'tools', 'interop', 'serve_moto.py')]
}

/** Says what there is, for suites that may import nothing from here. */
async function main() {
  console.log(JSON.stringify({ command: await ensureMoto() }))
}

function fail(error) {
  console.error(`moto: ${error.message}`)
  process.exitCode = 1
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await main().catch(fail)
