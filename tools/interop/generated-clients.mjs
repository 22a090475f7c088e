// openapi-generator makes Python, Go and TypeScript clients from the document of a running product. Each must compile and list
// workers. Plain Node.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { seconds } from '../run-vitest.mjs'
import { binOf, cache, run } from '../setup.mjs'
import { ensurePython } from './python-packages.mjs'
import { callProduct, outputOf, startProduct, withTemporaryFolder } from './running-product.mjs'

/** The generator, and the packages that its Python client needs. */
const PINNED = [
  'openapi-generator-cli==7.26.0',
  'pydantic==2.14.3',
  'python-dateutil==2.9.0.post0',
  'typing-extensions==4.16.0',
  'urllib3==2.8.0',
]
const PRINT_JAR = 'import openapi_generator_cli as it; print(it.__path__[0] + "/openapi-generator.jar")'
const STEP_MS_MAX = 180_000
const WORKER = 'generated-client'
/** Documentation and tests of the clients are not judged. */
const QUICKLY = ['modelDocs=false', 'apiDocs=false', 'modelTests=false', 'apiTests=false'].join(',')
const TAIL_CHARS = 3_000

const PYTHON_PROGRAM = `import json, os
import openapi_client
configuration = openapi_client.Configuration(host=os.environ["LCM_API"], access_token=os.environ["LCM_TOKEN"])
with openapi_client.ApiClient(configuration) as client:
    print(json.dumps([worker.name for worker in openapi_client.WorkersApi(client).list_workers().items]))
`
const GO_PROGRAM = `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	client "example.com/lcm/client"
)

func main() {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Getenv("LCM_API")}}
	ctx := context.WithValue(context.Background(), client.ContextAccessToken, os.Getenv("LCM_TOKEN"))
	list, _, err := client.NewAPIClient(configuration).WorkersAPI.ListWorkers(ctx).Execute()
	if err != nil {
		panic(err)
	}
	names := []string{}
	for _, worker := range list.Items {
		names = append(names, worker.Name)
	}
	text, _ := json.Marshal(names)
	fmt.Println(string(text))
}
`
const TYPESCRIPT_PROGRAM = `import { Configuration, WorkersApi } from './index.js'
declare const process: { env: Record<string, string> }
const { LCM_API, LCM_TOKEN } = process.env
const api = new WorkersApi(new Configuration({ basePath: LCM_API, accessToken: LCM_TOKEN }))
console.log(JSON.stringify((await api.listWorkers()).items.map(worker => worker.name)))
`
const TSCONFIG = {
  compilerOptions: {
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable'],
    module: 'nodenext',
    moduleResolution: 'nodenext',
    strict: true,
    skipLibCheck: true,
    types: [],
    outDir: 'dist',
  },
}

/** Each language: options of the generator, then the commands that compile the client and list workers with it. */
const LANGUAGES = [
  {
    generator: 'python',
    options: [],
    prepare: folder => writeFileSync(join(folder, 'list_workers.py'), PYTHON_PROGRAM),
    compile: ({ python }) => [python, ['-m', 'compileall', '-q', '.']],
    list: ({ python }) => [python, ['list_workers.py']],
  },
  {
    generator: 'go',
    // Several enums share values such as RUNNING.
    options: ['--additional-properties=enumClassPrefix=true,packageName=client'],
    prepare(folder) {
      mkdirSync(join(folder, 'list'))
      writeFileSync(join(folder, 'list', 'main.go'), GO_PROGRAM)
      writeFileSync(join(folder, 'go.mod'), 'module example.com/lcm/client\n\ngo 1.23\n')
    },
    compile: () => ['go', ['build', '-o', 'list-workers', './list']],
    list: ({ folder }) => [join(folder, 'list-workers'), []],
  },
  {
    generator: 'typescript-fetch',
    options: ['--additional-properties=importFileExtension=.js'],
    prepare(folder) {
      writeFileSync(join(folder, 'list-workers.ts'), TYPESCRIPT_PROGRAM)
      writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG))
    },
    compile: () => [process.execPath, [binOf('typescript', 'tsc'), '-p', 'tsconfig.json']],
    list: () => [process.execPath, ['dist/list-workers.js']],
  },
]

/** Resolves with the jar of the generator and a Python that can run its client. Rejects with one sentence. */
export async function ensureClientGenerator() {
  for (const [command, argument] of [
    ['java', '-version'],
    ['go', 'version'],
  ]) {
    const { code } = await run(command, [argument]).catch(() => ({ code: 1 }))
    if (code !== 0) throw new Error(`it needs Java 11 or newer and Go, and ${command} cannot be run.`)
  }
  const python = await ensurePython('openapi-generator', PINNED)
  const { output } = await run(python, ['-c', PRINT_JAR])
  return { python, jar: output.trim() }
}

/** Every step counts as one test: generate, compile and list, for each language. */
export function judgeGeneratedClients({ python, jar }) {
  return withTemporaryFolder(async folder => {
    const product = await startProduct(join(folder, 'data'))
    try {
      await callProduct(product, product.adminToken, ['POST', '/workers'], {
        body: { template_name: 'metal', name: WORKER },
      })
      const document = join(folder, 'openapi.json')
      const response = await fetch(`${product.url}/api/v1/openapi.json`)
      writeFileSync(document, await response.text())
      const results = await Promise.all(
        LANGUAGES.map(language =>
          judgeLanguage(language, { python, jar, product, document, folder: join(folder, language.generator) }),
        ),
      )
      const passed = results.reduce((sum, count) => sum + count, 0)
      return { passed, failed: LANGUAGES.length * 3 - passed }
    } finally {
      await product.stop()
    }
  })
}

/** Resolves with the number of passed steps. A failed step also fails the ones after it. */
async function judgeLanguage(language, context) {
  const { generator, options, prepare, compile, list } = language
  const { jar, product, document, folder } = context
  const env = {
    ...process.env,
    LCM_API: `${product.url}/api/v1`,
    LCM_TOKEN: product.adminToken,
    NO_PROXY: '127.0.0.1',
    GOCACHE: join(cache, 'go-build'),
    GOFLAGS: '-mod=mod',
  }
  const generate = ['-Xmx512m', '-jar', jar, 'generate', '-i', document, '-g', generator, '-o', folder]
  const steps = [
    {
      name: 'generate',
      command: ['java', [...generate, ...options, `--global-property=models,apis,supportingFiles,${QUICKLY}`]],
    },
    { name: 'compile', command: compile(context), before: () => prepare(folder) },
    { name: 'list', command: list(context), expected: WORKER },
  ]
  mkdirSync(folder)
  for (const [passed, { name, command, before, expected = '' }] of steps.entries()) {
    const startedAt = Date.now()
    before?.()
    const { code, output } = await outputOf(...command, { cwd: folder, env, timeout: STEP_MS_MAX })
    const isGood = code === 0 && output.includes(expected)
    console.log(`${isGood ? 'ok' : 'FAILED'}  openapi-generator ${generator}: ${name} (${seconds(startedAt)})`)
    if (isGood) continue
    console.log(output.slice(-TAIL_CHARS))
    return passed
  }
  return steps.length
}
