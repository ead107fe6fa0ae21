//! The page of who may call which route.

use ff_server::Who;

use super::{code, heading, table};

pub(crate) fn page() -> String {
    let mut page = heading("Access", "access");
    page.push_str(
        "Which roles may call which route. Root, who shows the token that the server was started with, \
         may call every one; so may everybody who calls a server on loopback that was started without a \
         token, unless a named token is shown. A named token reaches its own namespaces: a request for \
         another one is answered 404, one that its role may not make 403. The OpenAPI document has the \
         same as `x-roles`.\n\n",
    );
    let rows = ff_server::access().into_iter().map(|route| {
        let words = |who: Who| who.words().join(", ");
        let may = match route.who {
            Some(Who::Anyone) => "everybody, without a token".to_owned(),
            Some(Who::AnyToken) => "every role".to_owned(),
            Some(who @ Who::Roles(_)) if who.words().len() == 5 => "every role".to_owned(),
            Some(who @ Who::Roles(_)) => words(who),
            Some(who @ Who::Everywhere(_)) => format!("{} with every namespace", words(who)),
            Some(Who::Root) | None => "root".to_owned(),
        };
        [route.method.to_string(), code(route.path), may]
    });
    page.push_str(&table(["method", "path", "who may"], rows));
    page
}
