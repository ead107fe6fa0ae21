//! What handlers stream: in order, once, before the end of their task, and over attempts.

use std::sync::Arc;

use ff_backend_memory::MemoryStore;
use ff_core::ExecutionId;
use ff_sdk::{Client, TaskContext, TaskError, TestTask, WorkerRuntime};
use ff_store::EngineBackend;
use ff_store::SystemClock;
use ff_store::roles::Engine;

fn backend() -> Arc<dyn EngineBackend> {
    Arc::new(Engine::new(MemoryStore::serial(Arc::new(SystemClock))))
}

async fn talk(task: TaskContext, words: Vec<String>) -> Result<(), TaskError> {
    task.emit("status", "begins").await?;
    let mut tokens = task.stream();
    for word in &words {
        tokens.write(word).await?;
    }
    tokens.finish().await?;
    task.summarize(&serde_json::json!({ "words": words.len() })).await?;
    match task.attempt() {
        0 => Err(TaskError::retryable("once more")),
        _ => Ok(()),
    }
}

async fn all(client: &Client, id: ExecutionId) -> Vec<(u32, String, String)> {
    let (mut tail, mut all) = (client.tail(id, 0), Vec::new());
    while let Some(frame) = tail.next().await.unwrap() {
        assert_eq!(frame.number, all.len() as u64);
        let text = String::from_utf8(frame.bytes.to_vec()).unwrap();
        all.push((frame.attempt, frame.kind.to_string(), text));
    }
    all
}

#[tokio::test]
async fn what_a_handler_streams_is_there_when_its_task_has_ended() {
    let backend = backend();
    let worker = WorkerRuntime::new(backend.clone()).lane("default").unwrap();
    let running = worker.on("talk", talk).unwrap().start().await.unwrap();
    let client = Client::new(backend);
    let task = client.task("talk").unwrap().input(&["a", "b", "c"]).unwrap();
    let task = task.policy(|policy| policy.backoff.base = Some(ff_core::Millis::ZERO));
    let id = task.send().await.unwrap().execution;
    let all = all(&client, id).await;
    for attempt in [0, 1] {
        let mine = all.iter().filter(|(number, ..)| *number == attempt);
        let text: String = mine.map(|(_, _, text)| text.as_str()).collect();
        assert_eq!(text, "beginsabc", "{all:?}");
    }
    let summary: serde_json::Value = client.summary(id).await.unwrap().unwrap();
    assert_eq!(summary, serde_json::json!({ "words": 3 }));
    running.shutdown().await;
}

#[tokio::test]
async fn a_test_sees_what_a_handler_streams() {
    let task = TestTask::new();
    let run = task.run::<(), _>(talk, &["a", "b"]).await;
    assert!(run.is_err(), "the first attempt fails");
    let frames = task.frames();
    assert_eq!(frames[0], ("status".to_owned(), "begins".into()));
    let tokens = frames.iter().filter(|(kind, _)| kind == "token");
    let tokens: Vec<u8> = tokens.flat_map(|(_, bytes)| bytes.to_vec()).collect();
    assert_eq!(tokens, b"ab");
}
