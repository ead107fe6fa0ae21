use flowfabric::prelude::*;

async fn greet(name: String) -> Result<String, TaskError> {
    Ok(format!("hello, {name}"))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let ff = FlowFabric::open("sqlite:work.ff").await?;
    ff.worker().on("greet", greet).start().await?;
    println!("{}", ff.task("greet", "world").send().await?.result::<String>().await?);
    ff.close().await;
    Ok(())
}
